"""The numbers of the consensus rules that are the same on every network.

Owns: the constants. Never: parameters of a network (`clarion.node.params`).
"""

from clarion.node.primitives.transaction import WITNESS_SCALE_FACTOR

__all__ = [
    "BIP34_IMPLIES_BIP30_LIMIT",
    "COIN",
    "COINBASE_MATURITY",
    "LOCKTIME_THRESHOLD",
    "MAX_BLOCK_SERIALIZED_SIZE",
    "MAX_BLOCK_SIGOPS_COST",
    "MAX_BLOCK_WEIGHT",
    "MAX_FUTURE_BLOCK_TIME",
    "MAX_MONEY",
    "MAX_TIMEWARP",
    "MEDIAN_TIME_SPAN",
    "MINIMUM_WITNESS_COMMITMENT",
    "SEQUENCE_FINAL",
    "SEQUENCE_LOCKTIME_DISABLE_FLAG",
    "SEQUENCE_LOCKTIME_GRANULARITY",
    "SEQUENCE_LOCKTIME_MASK",
    "SEQUENCE_LOCKTIME_TYPE_FLAG",
    "WITNESS_SCALE_FACTOR",
    "format_money",
]

COIN = 100_000_000
"""Satoshis in one bitcoin."""
MAX_MONEY = 21_000_000 * COIN
"""No amount may exceed this many satoshis."""

MAX_BLOCK_SERIALIZED_SIZE = 4_000_000
"""Largest encoding of a block in bytes; bounds buffers only, weight is the rule."""
MAX_BLOCK_WEIGHT = 4_000_000
"""Largest weight of a block in weight units (BIP141)."""
MAX_BLOCK_SIGOPS_COST = 80_000
"""Largest sum of signature operations of a block, each legacy one counting four (BIP141)."""
COINBASE_MATURITY = 100
"""A coinbase output can be spent this many blocks later."""

MAX_FUTURE_BLOCK_TIME = 2 * 60 * 60
"""A block's time may be this many seconds ahead of the clock."""
MAX_TIMEWARP = 600
"""Seconds that the first block of a retarget period may lie before its parent (BIP94)."""
MEDIAN_TIME_SPAN = 11
"""Number of blocks behind a median time past."""

LOCKTIME_THRESHOLD = 500_000_000
"""A lock time below is a height, from here on a Unix time."""
SEQUENCE_FINAL = 0xFFFFFFFF
SEQUENCE_LOCKTIME_DISABLE_FLAG = 1 << 31
"""Set: the sequence number is no relative lock time (BIP68)."""
SEQUENCE_LOCKTIME_TYPE_FLAG = 1 << 22
"""Set: the relative lock time counts units of 512 seconds, else blocks (BIP68)."""
SEQUENCE_LOCKTIME_MASK = 0xFFFF
SEQUENCE_LOCKTIME_GRANULARITY = 9

MINIMUM_WITNESS_COMMITMENT = 38
"""Shortest script of a coinbase output that can commit to witnesses, in bytes (BIP141)."""

BIP34_IMPLIES_BIP30_LIMIT = 1_983_702
"""First height at which a block mined before BIP34 could have an equal coinbase, so BIP30 is checked again."""


def format_money(amount: int) -> str:
    """Return satoshis as bitcoins with at least two decimals, as the reference's log lines and debug texts do."""
    whole, fraction = divmod(abs(amount), COIN)
    digits = f"{fraction:08d}"
    return f"{'-' if amount < 0 else ''}{whole}.{digits[:2]}{digits[2:].rstrip('0')}"
