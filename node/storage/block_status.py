"""The bits of a block's `status` column, with the reference's numbers (BlockStatus in its chain.h).

Owns: the numbers, which are stored: never renumber them. Never: when a block gets one.
"""

VALID_UNKNOWN = 0
VALID_TREE = 2
"""All parents are known, proof of work and times are right."""
VALID_TRANSACTIONS = 3
"""The block passed its context-free checks; its transaction count is known."""
VALID_CHAIN = 4
"""Inputs are there and not spent twice, amounts are right, coinbase output and maturity too."""
VALID_SCRIPTS = 5
"""Scripts and signatures are right."""
VALID_MASK = 7
"""The validity level, a number rather than flags."""

HAVE_DATA = 8
"""The whole block is in a block file."""
HAVE_UNDO = 16
"""Its undo data is in an undo file."""
HAVE_MASK = HAVE_DATA | HAVE_UNDO

FAILED_VALID = 32
"""The stage behind the last one reached failed: the block is invalid."""
FAILED_CHILD = 64
"""Descends from an invalid block."""
FAILED_MASK = FAILED_VALID | FAILED_CHILD

OPT_WITNESS = 128
"""The data was received by a client that enforces witness rules."""


def is_valid(status: int, up_to: int = VALID_TRANSACTIONS) -> bool:
    """Whether a block with this status has not failed and has reached the validity level `up_to`."""
    return not status & FAILED_MASK and (status & VALID_MASK) >= up_to
