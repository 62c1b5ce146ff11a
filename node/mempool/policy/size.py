"""Sizes as fees are counted on them.

Owns: weight and virtual size, raised for transactions with many signature operations. Never: limits on them.
"""

from clarion.node.consensus.constants import WITNESS_SCALE_FACTOR


def sigop_adjusted_weight(weight: int, sigop_cost: int, bytes_per_sigop: int) -> int:
    """Return the weight, or what the signature operations weigh if that is more (-bytespersigop)."""
    return max(weight, sigop_cost * bytes_per_sigop)


def virtual_size(weight: int, sigop_cost: int = 0, bytes_per_sigop: int = 0) -> int:
    """Return the sigop-adjusted weight in virtual bytes, rounded up."""
    adjusted = sigop_adjusted_weight(weight, sigop_cost, bytes_per_sigop)
    return (adjusted + WITNESS_SCALE_FACTOR - 1) // WITNESS_SCALE_FACTOR
