"""Which chain is chosen, and what of the reference's base parameters follows from its name.

Owns: -chain and its short forms, folders and ports. Never: consensus parameters.
"""

from dataclasses import dataclass

from clarion.node.errors import ConfigError
from clarion.node.options.settings import Settings
from clarion.node.options.values import read_flag, read_text


@dataclass(frozen=True, slots=True)
class ChainBase:
    """Folder below the data directory and default port of the RPC server."""

    folder: str
    rpc_port: int


CHAINS = {
    "main": ChainBase("", 8332),
    "test": ChainBase("testnet3", 18332),
    "testnet4": ChainBase("testnet4", 48332),
    "signet": ChainBase("signet", 38332),
    "regtest": ChainBase("regtest", 18443),
}

_SHORT_FORMS = {"regtest": "regtest", "signet": "signet", "testnet": "test", "testnet4": "testnet4"}


def choose_chain(settings: Settings) -> str:
    """Return the chosen chain's name. Raises ConfigError if several are chosen or there is no such chain."""
    named = settings.get("chain")
    chosen = [chain for name, chain in _SHORT_FORMS.items() if _chosen(settings, name)]
    if len(chosen) + (named is not None) > 1:
        raise ConfigError(
            "Invalid combination of -regtest, -signet, -testnet, -testnet4 and -chain. Can use at most one."
        )
    chain = read_text(named) if named is not None else (chosen[0] if chosen else "main")
    if chain not in CHAINS:
        raise ConfigError(f"Unknown chain {chain}.")
    return chain


def _chosen(settings: Settings, name: str) -> bool:
    value = settings.get_chain_choice(name)
    return value is not None and read_flag(name, value)
