"""What an index is: a name, and what one block puts into its database or takes out again.

Owns: the protocol that plugins implement, and the values that they are given. Never: threads, which block comes next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.storage.rows import BlockPosition


@dataclass(frozen=True, slots=True)
class IndexedBlock:
    """A block as an index sees it. Treat everything as immutable.

    `spent[i]` are the coins that transaction `i + 1` spends, in the order of its inputs; empty where the index does
    not ask for them. `position` is where the raw block lies.
    """

    block: Block
    height: int
    spent: Sequence[Sequence[Coin]]
    position: BlockPosition
    params: ChainParams


class IndexBatch:
    """Changes that wait for one commit, over what is stored. Bytes map to bytes, ordered by key."""

    def __init__(self, stored: Callable[[bytes], bytes | None]) -> None:
        self._stored = stored
        self._changes: dict[bytes, bytes | None] = {}
        self.size_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, as it will be after the commit."""
        return self._changes[key] if key in self._changes else self._stored(key)

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        self._changes[key] = value
        self.size_bytes += len(key) + len(value) + _ENTRY_BYTES

    def delete(self, key: bytes) -> None:
        """Take a key out, whether it is there or not."""
        self._changes[key] = None
        self.size_bytes += len(key) + _ENTRY_BYTES

    @property
    def changes(self) -> Mapping[bytes, bytes | None]:
        """Every changed key with its value, None for those that go."""
        return self._changes


_ENTRY_BYTES = 150
"""About what an entry takes in memory beside its bytes."""


class Index(Protocol):
    """One index. Its methods run on the index's own thread; what they raise stops this index and nothing else.

    They keep nothing in memory that a commit would have to be in step with: state belongs in the database.
    """

    @property
    def name(self) -> str:
        """The name that `getindexinfo` shows."""
        ...

    @property
    def store_name(self) -> str:
        """Name of the database: lower-case letters and digits."""
        ...

    @property
    def needs_spent(self) -> bool:
        """Whether blocks come with the coins that they spend, for which undo data is read."""
        ...

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Add a block of the active chain, the child of the one that was added last."""
        ...

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Take back the block that was added last: it left the active chain."""
        ...
