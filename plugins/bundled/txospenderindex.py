"""-txospenderindex: which transaction of the chain spends an output.

Owns: what is stored. Never: the mempool's spends.
A key is an outpoint (36 bytes), its value where the spending transaction lies (`tx_position`).
"""

from clarion.node.chain.indexes.index import Index, IndexBatch, IndexedBlock
from clarion.node.chain.indexes.tx_position import tx_positions
from clarion.node.config import Config
from clarion.plugins.hookspecs import hookimpl

NAME = "txospenderindex"
STORE_NAME = "txospenderindex"


class TxoSpenderIndex:
    """The index of spenders."""

    name = NAME
    store_name = STORE_NAME
    needs_spent = False

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Note who spends what."""
        for tx, position in tx_positions(block.block, block.position):
            if not tx.is_coinbase:
                for txin in tx.inputs:
                    batch.put(txin.prevout, position)

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Forget it: these outputs are unspent again."""
        for tx in block.block.txs[1:]:
            for txin in tx.inputs:
                batch.delete(txin.prevout)


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index if -txospenderindex asks for it."""
    return [TxoSpenderIndex()] if config.txo_spender_index else []
