"""What an index is: a name, and what one block puts into its database or takes out again.

Owns: the protocols that plugins implement, and the values that they are given. Never: threads, which block comes next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


class EntryStore(Protocol):
    """What is stored, as a batch reads it."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those of the keys that exist."""
        ...

    def range(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` keys from `start` on and below `stop` with their values, by key."""
        ...


class IndexBatch:
    """Changes that wait for one commit, over what is stored. Bytes map to bytes, ordered by key."""

    def __init__(self, store: "EntryStore") -> None:
        self._stored = store.get
        self._stored_many = store.get_many
        self._stored_range = store.range
        self._changes: dict[bytes, bytes | None] = {}
        self.size_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, as it will be after the commit."""
        return self._changes[key] if key in self._changes else self._stored(key)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of those of the keys that will exist after the commit."""
        found = {key: value for key in keys if (value := self._changes.get(key)) is not None}
        return found | self._stored_many([key for key in keys if key not in self._changes])

    def range(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` keys from `start` on and below `stop` with their values, by key, as after the commit."""
        changed = {key: value for key, value in self._changes.items() if start <= key < stop}
        # So many more are read as may have to be left out.
        merged: dict[bytes, bytes | None] = dict(self._stored_range(start, stop, limit + len(changed)))
        merged |= changed
        return [(key, value) for key, value in sorted(merged.items()) if value is not None][:limit]

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


class IndexPlace(Protocol):
    """Where an index stands: the part of the chain that it has been told."""

    @property
    def height(self) -> int:
        """Height of the block that was added last, -1 in an empty index."""
        ...

    @property
    def params(self) -> ChainParams:
        """The network's parameters."""
        ...

    def has_block(self, height: int) -> bool:
        """Whether the block at a height up to the index's own is stored: it may be pruned, or not be there yet."""
        ...

    def load(self, height: int) -> IndexedBlock:
        """Return that block. Raises StorageError."""
        ...


@runtime_checkable
class WorkingIndex(Protocol):
    """What an index may have besides: work of its own between two blocks, and keys that outlive the chain's database.

    All runs on the index's thread, but for the properties, which must be cheap and right from any.
    """

    @property
    def kept_prefix(self) -> bytes:
        """What keys begin with that no chain can give back; a reindex leaves them. Empty: none."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether blocks need not be read for it: `connect` and `disconnect` are then not called."""
        ...

    @property
    def patience_s(self) -> float:
        """How long a new block may wait for it, seconds, while nobody asks: so its work does not delay the events."""
        ...

    @property
    def lowest_needed(self) -> int | None:
        """The lowest height whose block it still has to read, which is not pruned meanwhile; None: none behind it."""
        ...

    def begin(self, batch: IndexBatch, params: ChainParams) -> None:
        """Get ready, before anything else: what is in memory besides is built of what is stored."""
        ...

    def restart(self, batch: IndexBatch) -> None:
        """The index is empty but for what is kept, and follows the chain from its start. Called behind `begin`."""
        ...

    def work(self, batch: IndexBatch, place: IndexPlace) -> bool:
        """Do a little, milliseconds, beside following the chain; whether there is more to do."""
        ...
