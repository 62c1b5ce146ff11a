"""The block subsidy.

Owns: how many new satoshis a block may create. Never: fees.
"""

from clarion.node.consensus.constants import COIN
from clarion.node.params.chain_params import ChainParams


def block_subsidy(height: int, params: ChainParams) -> int:
    """Return the satoshis that the block at `height` may create: 50 bitcoins, halved at every halving interval."""
    halvings = height // params.halving_interval
    return 0 if halvings >= 64 else (50 * COIN) >> halvings
