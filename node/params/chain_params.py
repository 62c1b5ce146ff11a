"""The options that change a network's parameters, and the choice of the network itself.

Owns: `select_params`, and what the values of -testactivationheight, -vbparams and -signetchallenge mean. Never: the
command line. `ChainParams` and its parts are defined in `model` and offered here too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clarion.node.errors import ConfigError
from clarion.node.params.model import NEVER_HEIGHT, AssumeUtxo, ChainParams, ChainTxData, Deployment
from clarion.node.params.networks import (
    main_params,
    regtest_params,
    signet_params,
    testnet3_params,
    testnet4_params,
)

__all__ = [
    "CHAIN_NAMES",
    "AssumeUtxo",
    "ChainParams",
    "ChainTxData",
    "Deployment",
    "VersionBitsOptions",
    "network_of_magic",
    "parse_activation_heights",
    "parse_signet_challenge",
    "parse_vbparams",
    "select_params",
]

CHAIN_NAMES = ("main", "test", "testnet4", "signet", "regtest")

# Names that -testactivationheight knows, and the parameter that each sets.
_ACTIVATION_FIELDS = {
    "segwit": "segwit_height",
    "bip34": "bip34_height",
    "dersig": "bip66_height",
    "cltv": "bip65_height",
    "csv": "csv_height",
}
_DEPLOYMENT_NAMES = ("testdummy",)
_INTEGER = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class VersionBitsOptions:
    """What -vbparams changes in a deployment."""

    start_time: int
    timeout: int
    min_activation_height: int = 0


def _integer(text: str, bits: int) -> int | None:
    """Return the signed integer of `bits` bits that is written in decimal digits, None if it is anything else."""
    if not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None


def parse_activation_heights(values: Sequence[str]) -> dict[str, int]:
    """Return {name: height} of the values of -testactivationheight. Raises ConfigError in the reference's words."""
    heights = {}
    for value in values:
        name, at, text = value.partition("@")
        if not at:
            raise ConfigError(f"Invalid format ({value}) for -testactivationheight=name@height.")
        height = _integer(text, 32)
        if height is None or not 0 <= height < NEVER_HEIGHT:
            raise ConfigError(f"Invalid height value ({value}) for -testactivationheight=name@height.")
        if name not in _ACTIVATION_FIELDS:
            raise ConfigError(f"Invalid name ({value}) for -testactivationheight=name@height.")
        heights[name] = height
    return heights


def parse_vbparams(values: Sequence[str]) -> dict[str, VersionBitsOptions]:
    """Return {deployment: options} of the values of -vbparams. Raises ConfigError in the reference's words."""
    options = {}
    for value in values:
        parts = value.split(":")
        if len(parts) not in (3, 4):
            raise ConfigError(
                "Version bits parameters malformed, expecting deployment:start:end[:min_activation_height]"
            )
        numbers = []
        for label, text in zip(("nStartTime", "nTimeout", "min_activation_height"), parts[1:], strict=False):
            number = _integer(text, 64)
            if number is None:
                raise ConfigError(f"Invalid {label} ({text})")
            numbers.append(number)
        if parts[0] not in _DEPLOYMENT_NAMES:
            raise ConfigError(f"Invalid deployment ({parts[0]})")
        options[parts[0]] = VersionBitsOptions(*numbers)
    return options


def parse_signet_challenge(values: Sequence[str]) -> bytes | None:
    """Return the script of the one -signetchallenge, None without the option. Raises ConfigError."""
    if not values:
        return None
    if len(values) != 1:
        raise ConfigError("-signetchallenge cannot be multiple values.")
    if not re.fullmatch(r"([0-9a-fA-F]{2})*", values[0]):
        raise ConfigError(f"-signetchallenge must be hex, not '{values[0]}'.")
    return bytes.fromhex(values[0])


def select_params(
    chain: str,
    *,
    signet_challenge: bytes | None = None,
    signet_seeds: Sequence[str] | None = None,
    activation_heights: Mapping[str, int] | None = None,
    vbparams: Mapping[str, VersionBitsOptions] | None = None,
    fastprune: bool = False,
    enforce_bip94: bool = False,
) -> ChainParams:
    """Return the parameters of network `chain` (one of CHAIN_NAMES) with the options applied.

    `signet_challenge` and `signet_seeds` count on signet only, `fastprune` and `enforce_bip94` on regtest only.
    Raises ConfigError for an unknown network.
    """
    if chain == "main":
        params = main_params()
    elif chain == "test":
        params = testnet3_params()
    elif chain == "testnet4":
        params = testnet4_params()
    elif chain == "signet":
        params = signet_params(signet_challenge, None if signet_seeds is None else tuple(signet_seeds))
    elif chain == "regtest":
        params = regtest_params(fastprune=fastprune, enforce_bip94=enforce_bip94)
    else:
        raise ConfigError(f"Unknown chain {chain}.")
    changes: dict[str, Any] = {_ACTIVATION_FIELDS[name]: height for name, height in (activation_heights or {}).items()}
    if vbparams:
        deployments = dict(params.deployments)
        for name, options in vbparams.items():
            deployments[name] = replace(
                deployments[name],
                start_time=options.start_time,
                timeout=options.timeout,
                min_activation_height=options.min_activation_height,
            )
        changes["deployments"] = deployments
    return replace(params, **changes) if changes else params


def network_of_magic(magic: bytes) -> str | None:
    """Return the name of the public network (or regtest) that starts its messages with `magic`, None if unknown."""
    for name in CHAIN_NAMES:
        if select_params(name).magic == magic:
            return name
    return None
