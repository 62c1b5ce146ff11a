"""What the chain needs of storage, opened by whoever composes the node.

Owns: the bundle of stores and files. Never: opening or closing them.
"""

from dataclasses import dataclass

from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.chain_store import ChainStore
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.undo_files import UndoFiles


@dataclass(slots=True)
class ChainStores:
    """The chain database, the coins, and the block and undo files. One node writes them."""

    chain: ChainStore
    coins: CoinStore
    """The coins of the active chain. A snapshot puts its own in their place, on the chain thread."""
    block_files: BlockFiles
    undo_files: UndoFiles
    background: CoinStore | None = None
    """The coins of the chain below a snapshot, while that is validated."""
