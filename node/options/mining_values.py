"""The options of block creation.

Owns: reading them. Never: their rows in the table of options, or what they do.
"""

from clarion.node.consensus.constants import MAX_BLOCK_WEIGHT
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mining.options import DEFAULT_MIN_FEE, DEFAULT_RESERVED_WEIGHT, MiningOptions
from clarion.node.options.reader import OptionReader
from clarion.node.options.values import read_amount, read_text


def read_mining_options(chain: str, read: OptionReader) -> MiningOptions:
    """Return what was said about new blocks. Raises ConfigError."""
    least = read.settings.get("blockmintxfee")
    return MiningOptions(
        min_feerate=FeeRate(DEFAULT_MIN_FEE if least is None else read_amount("blockmintxfee", read_text(least))),
        log_feerates=read.flag("printpriority", False),
        reserved_weight=max(0, read.number("blockreservedweight", DEFAULT_RESERVED_WEIGHT)),
        max_weight=max(0, read.number("blockmaxweight", MAX_BLOCK_WEIGHT)),
        version=_version(read) if chain == "regtest" else None,
    )


def _version(read: OptionReader) -> int | None:
    if read.settings.get("blockversion") is None:
        return None
    # An int32, whatever number it was.
    return (read.number("blockversion", 0) + 0x80000000) % (1 << 32) - 0x80000000
