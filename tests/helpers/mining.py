"""A miner over a pool that transactions are offered to, with everything on one thread.

Owns: the composition. Never: asserting.
"""

from typing import Any, cast

from clarion.node.chain.service import ChainService
from clarion.node.mempool.block_updates import BlockUpdates
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mining.miner import Miner
from clarion.node.mining.options import MiningOptions
from clarion.node.primitives.transaction import Transaction
from helpers.accepting import Accepting


def miner_over(accepting: Accepting, **options: Any) -> Miner:
    """Return a miner of this pool's transactions; the chain tells the pool of its blocks from now on."""
    accepting.clock.set_mock(accepting.blocks[-1].time + 600)
    state = accepting.node.manager.state
    state.pool = BlockUpdates(accepting.pool, state, lambda tx: False)
    chain = cast(ChainService, accepting.chain)
    return Miner(chain, accepting.pool, accepting.clock, MiningOptions(**options))


def entries_of(accepting: Accepting, txs: list[Transaction]) -> list[MempoolEntry]:
    """Return the pool's entries of these transactions."""
    return [accepting.pool.entries[tx.txid] for tx in txs]
