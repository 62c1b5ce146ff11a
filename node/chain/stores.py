"""What the chain needs of storage, opened by whoever composes the node.

Owns: the bundle of stores and files. Never: opening or closing them.
"""

from dataclasses import dataclass

from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.chain_store import ChainStore
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.undo_files import UndoFiles


@dataclass(frozen=True, slots=True)
class ChainStores:
    """The chain database, the coins, and the block and undo files. One node writes them."""

    chain: ChainStore
    coins: CoinStore
    block_files: BlockFiles
    undo_files: UndoFiles
