"""-txindex: where each transaction of the chain lies in the block files.

Owns: what is stored, and reading it. Never: transactions themselves.
A key is a txid in internal order, its value a `TxPosition`. Transactions of blocks that left the chain stay, as in the
reference, until another block confirms them.
"""

from clarion.node.chain.indexes.index import Index, IndexBatch, IndexedBlock
from clarion.node.chain.indexes.tx_position import tx_positions
from clarion.node.config import Config
from clarion.plugins.hookspecs import hookimpl

NAME = "txindex"
STORE_NAME = "txindex"


class TxIndex:
    """The index of transactions."""

    name = NAME
    store_name = STORE_NAME
    needs_spent = False

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Note the transactions of a block. Genesis' is no transaction that anyone could spend: it is left out."""
        if block.height:
            for tx, position in tx_positions(block.block, block.position):
                batch.put(tx.txid, position)

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Leave everything: the block is still in its file."""


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index if -txindex asks for it."""
    return [TxIndex()] if config.tx_index else []
