"""What one attempt to get into the mempool sees: the settled tip, the pool and the coins of both.

Owns: reading these at one moment. Never: judging. Used on the chain thread, within one of its jobs.
"""

from collections.abc import Iterable

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.manager import ChainManager
from clarion.node.consensus.deployments import script_flags_at
from clarion.node.mempool.coins_view import MempoolCoins
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import NULL_HASH, BlockHash, Txid, make_outpoint
from clarion.node.primitives.transaction import Transaction
from clarion.node.validation.tx_scripts import TxScripts

MAX_FEE_ESTIMATION_TIP_AGE_S = 3 * 60 * 60


class Scene:
    """The pool and the chain at the start of a job. Nothing but the attempt itself changes them meanwhile."""

    def __init__(self, pool: Mempool, manager: ChainManager, scripts: TxScripts) -> None:
        self.pool = pool
        self.scripts = scripts
        self.tip: BlockIndexEntry = manager.settled_tip()
        self._state = manager.state
        self.coins = MempoolCoins(pool.entries, manager.state.coins.fetch)
        self._known: set[Txid] = set()

    @property
    def block_flags(self) -> int:
        """The script flags of the block on top of the tip."""
        return script_flags_at(self.tip.height + 1, BlockHash(NULL_HASH), self._state.params)

    @property
    def current(self) -> bool:
        """Whether the chain is so far up to date that fees can be learnt from it."""
        state, tip = self._state, self.tip
        best = state.best_header
        return (
            not state.initial_download
            and tip.time >= state.clock.now() - MAX_FEE_ESTIMATION_TIP_AGE_S
            and (best is None or tip.height >= best.height - 1)
        )

    def prefetch(self, txs: Iterable[Transaction]) -> None:
        """Read from storage what judging these transactions may ask for, so that no lock is held meanwhile."""
        txs = list(txs)
        self.coins.prefetch(txs)
        for tx in txs:
            if any(self.coins.get(txin.prevout) is None for txin in tx.inputs) and self.has_outputs_of(tx):
                self._known.add(tx.txid)

    def has_outputs_of(self, tx: Transaction) -> bool:
        """Whether the chain holds unspent outputs of the transaction. May read from storage."""
        outputs = [make_outpoint(tx.txid, index) for index in range(len(tx.outputs))]
        return bool(self._state.coins.existing(outputs))

    def confirmed(self, tx: Transaction) -> bool:
        """Whether a prefetched transaction whose inputs are missing has unspent outputs in the chain."""
        return tx.txid in self._known
