"""The indexes, as the API uses them: whether the node has one, and waiting until it has reached the tip.

Owns: the wait, and one transaction by the place that an index stores. Never: what the indexes hold.
"""

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.node.chain.indexes.tx_position import read_transaction_at
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction
from clarion.plugins.bundled import txindex


@rpc_method(
    "_index_synced",
    category="hidden",
    where=NODE,
    internal=True,
    description="Waits until an index has reached the tip.",
)
def index_synced(ctx: NodeContext, name: str) -> bool:
    """Return whether it has; false at once while it is being built."""
    return ctx.indexes.wait_synced(name, ctx.chain.manager.tip)


def has_index(ctx: ReaderContext, name: str) -> bool:
    """Whether the node was told to keep the index."""
    return name in ctx.settings.indexes


def wait_for_index(ctx: ReaderContext, name: str, store_name: str) -> bool:
    """Wait until the index holds the present tip (the reference's BlockUntilSyncedToCurrentChain).

    False if it is still being built. Called from a thread.
    """
    return ctx.wait_for_index(name, store_name)


def find_indexed_transaction(ctx: ReaderContext, txid: bytes) -> tuple[Transaction, BlockHash] | None:
    """Return a transaction and its block's hash by -txindex, None if it is not there. Raises BlockFileError."""
    with ctx.index(txindex.STORE_NAME).snapshot() as view:
        stored = view.get(txid)
    return None if stored is None else read_transaction_at(ctx.reader.block_files, stored)
