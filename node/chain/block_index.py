"""The header tree: every header that the node accepted, with its work and what is known of its block.

Owns: entries, which stand for headers while somebody looks at them, and walks over the whole tree. Never: which chain
is best, storage.
"""

import heapq
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import compress, count

from clarion.node.chain.header_columns import NO_NUMBER, HeaderColumns
from clarion.node.chain.header_loading import load_headers
from clarion.node.consensus.pow import block_proof
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.rows import BlockPage, BlockPosition, BlockRow

SEQUENCE_BEST_CHAIN_FROM_DISK = 0
SEQUENCE_FROM_DISK = 1
"""Ids of blocks that were there at start. Lower wins a tie of work, so the old tip stays the tip over a restart."""

_FEW_REFERENCES = 1024


class _Constant:
    """An attribute of an entry that never changes, read from its column."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, entry: "BlockIndexEntry", owner: type) -> int:
        number: int = getattr(entry.columns, self._name)[entry.number]
        return number


class _Value(_Constant):
    """An attribute of an entry, kept in its column."""

    def __set__(self, entry: "BlockIndexEntry", value: int) -> None:
        getattr(entry.columns, self._name)[entry.number] = value


class BlockIndexEntry:
    """One header in the tree. Satisfies `consensus.position.ChainPosition`.

    `BlockIndex` makes it when it is asked for; as long as it is alive, a header has one entry, so `is` compares headers.
    Written by the chain thread alone, under the chain lock. `chain_tx_count` is 0 while a block on the path from
    genesis is missing. Positions count bytes in the files of storage.
    """

    __slots__ = ("__weakref__", "columns", "index", "number")

    height = _Constant()
    version = _Constant()
    time = _Constant()
    bits = _Constant()
    nonce = _Constant()
    time_max = _Constant()
    status = _Value()
    tx_count = _Value()
    chain_tx_count = _Value()
    file = _Value()
    data_pos = _Value()
    data_size = _Value()
    undo_pos = _Value()
    undo_size = _Value()
    sequence_id = _Value()

    def __init__(self, index: "BlockIndex", number: int) -> None:
        """Only `BlockIndex.entry` makes entries."""
        self.index = index
        self.columns = index.columns
        self.number = number

    @property
    def hash(self) -> BlockHash:
        """The header's hash, internal order."""
        return self.columns.hash_of(self.number)

    @property
    def merkle_root(self) -> bytes:
        """The header's merkle root, internal order."""
        return self.columns.merkle_root_of(self.number)

    @property
    def chainwork(self) -> int:
        """Expected number of hashes behind this header and its ancestors."""
        return self.columns.work_of(self.number)

    @property
    def prev(self) -> "BlockIndexEntry | None":
        """The parent, None for genesis."""
        return self.index.entry_or_none(self.columns.prev[self.number])

    @property
    def skip(self) -> "BlockIndexEntry | None":
        """A far ancestor (see `skip_height`), None for genesis."""
        return self.index.entry_or_none(self.columns.skip[self.number])

    def ancestor(self, height: int) -> "BlockIndexEntry | None":
        """Return the ancestor (or itself) at `height`, None outside 0 to its own height."""
        return self.index.entry_or_none(self.columns.ancestor(self.number, height))

    def descends_from(self, other: "BlockIndexEntry") -> bool:
        """Whether `other` is an ancestor of this entry, or this entry."""
        columns = self.columns
        return other.columns is columns and columns.ancestor(self.number, other.height) == other.number

    def median_time_past(self) -> int:
        """Return the median of the times of this block and its ten ancestors (BIP113)."""
        return self.columns.median_time_past(self.number)

    @property
    def data_position(self) -> BlockPosition:
        """Where the raw block lies; means something only with `has_data`."""
        return BlockPosition(self.file, self.data_pos, self.data_size)

    @property
    def undo_position(self) -> BlockPosition:
        """Where the undo data lies; means something only with `has_undo`."""
        return BlockPosition(self.file, self.undo_pos, self.undo_size)

    @property
    def failed(self) -> bool:
        """Whether this block or an ancestor is known to be invalid."""
        return bool(self.status & block_status.FAILED_VALID)

    @property
    def has_data(self) -> bool:
        """Whether the raw block is in a block file."""
        return bool(self.status & block_status.HAVE_DATA)

    @property
    def has_undo(self) -> bool:
        """Whether the block's undo data is in an undo file."""
        return bool(self.status & block_status.HAVE_UNDO)

    def is_valid(self, level: int) -> bool:
        """Whether the block was checked up to `level` (a BLOCK_VALID_ number) and nothing failed."""
        return _is_valid(self.status, level)

    @property
    def connectable(self) -> bool:
        """Whether the block and all before it are stored and passed their context-free checks."""
        return _is_connectable(self.columns, self.number)

    def raise_validity(self, level: int) -> None:
        """Note that the block was checked up to `level`, unless it failed."""
        if not self.failed and (self.status & block_status.VALID_MASK) < level:
            self.status = (self.status & ~block_status.VALID_MASK) | level

    def header(self) -> BlockHeader:
        """Return the header with its hash."""
        prev = self.columns.prev[self.number]
        prev_hash = self.columns.hash_of(prev) if prev >= 0 else bytes(32)
        return BlockHeader(self.version, prev_hash, self.merkle_root, self.time, self.bits, self.nonce)

    def row(self) -> BlockRow:
        """Return what storage keeps of this entry."""
        return BlockRow(
            hash=self.hash,
            header=self.header().serialize(),
            height=self.height,
            chainwork=self.chainwork,
            status=self.status,
            tx_count=self.tx_count,
            chain_tx_count=self.chain_tx_count,
            file=self.file,
            data_pos=self.data_pos,
            data_size=self.data_size,
            undo_pos=self.undo_pos,
            undo_size=self.undo_size,
        )

    def __repr__(self) -> str:
        return f"BlockIndexEntry({self.height}, {hash_to_hex(self.hash)})"


def _is_valid(status: int, level: int) -> bool:
    return not status & block_status.FAILED_VALID and (status & block_status.VALID_MASK) >= level


def _is_connectable(columns: HeaderColumns, number: int) -> bool:
    valid = _is_valid(columns.status[number], block_status.VALID_TRANSACTIONS)
    return valid and columns.chain_tx_count[number] != 0


class BlockIndex:
    """Every known header by hash.

    Walks over the whole tree start at its leaves and look at columns: no more entries are made than are returned.
    """

    def __init__(self) -> None:
        self.columns = HeaderColumns()
        self._alive: dict[int, weakref.ref[BlockIndexEntry]] = {}
        self._sweep_at = _FEW_REFERENCES
        self._making = threading.Lock()

    # --- entries ----------------------------------------------------------------------------------------------------

    def entry(self, number: int) -> BlockIndexEntry:
        """Return the entry of the header with this number. Any thread may ask."""
        reference = self._alive.get(number)
        found = reference() if reference is not None else None
        return found if found is not None else self._make(number)

    def entry_or_none(self, number: int) -> BlockIndexEntry | None:
        """Return the entry of the header with this number, None for NO_NUMBER."""
        return self.entry(number) if number >= 0 else None

    def _make(self, number: int) -> BlockIndexEntry:
        # Two threads that made the same entry would each hold one that the other's is not.
        with self._making:
            reference = self._alive.get(number)
            found = reference() if reference is not None else None
            if found is None:
                if len(self._alive) >= self._sweep_at:
                    self._sweep()
                found = BlockIndexEntry(self, number)
                self._alive[number] = weakref.ref(found)
            return found

    def _sweep(self) -> None:
        self._alive = {number: reference for number, reference in self._alive.items() if reference() is not None}
        self._sweep_at = max(_FEW_REFERENCES, 2 * len(self._alive))

    def get(self, block_hash: bytes) -> BlockIndexEntry | None:
        """Return the entry of `block_hash` (internal order), None if the header is unknown."""
        return self.entry_or_none(self.columns.find(block_hash))

    def __getitem__(self, block_hash: bytes) -> BlockIndexEntry:
        number = self.columns.find(block_hash)
        if number == NO_NUMBER:
            raise KeyError(block_hash)
        return self.entry(number)

    def __contains__(self, block_hash: object) -> bool:
        return isinstance(block_hash, bytes) and self.columns.find(block_hash) != NO_NUMBER

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[BlockIndexEntry]:
        return map(self.entry, range(len(self.columns)))

    # --- filling ----------------------------------------------------------------------------------------------------

    def add(self, header: BlockHeader) -> BlockIndexEntry:
        """Insert a header whose parent is known (or genesis) and return its entry; a known one is returned as it is."""
        columns = self.columns
        number = columns.find(header.hash)
        if number == NO_NUMBER:
            number = columns.append(header, block_proof(header.bits), block_status.VALID_TREE, SEQUENCE_FROM_DISK)
        return self.entry(number)

    def load(self, pages: Iterable[BlockPage], count: int) -> None:
        """Fill an empty index with the `count` headers that storage kept, in any order.

        Raises StorageError if a parent is missing.
        """
        load_headers(self.columns, pages, count, SEQUENCE_FROM_DISK)

    # --- the whole tree ---------------------------------------------------------------------------------------------

    def rows(self, numbers: Iterable[int]) -> list[BlockRow]:
        """Return what storage keeps of the headers with these numbers."""
        return [self.entry(number).row() for number in numbers]

    def header_rows(self, numbers: Iterable[int]) -> list[BlockRow]:
        """Return the rows of these headers as if nothing were known of their blocks."""
        return [
            BlockRow(entry.hash, entry.header().serialize(), entry.height, entry.chainwork, block_status.VALID_TREE)
            for entry in map(self.entry, numbers)
        ]

    def leaves(self) -> list[BlockIndexEntry]:
        """Return the entries without children."""
        return [self.entry(number) for number in sorted(self.columns.leaves)]

    def descendants(self, entry: BlockIndexEntry) -> Iterator[BlockIndexEntry]:
        """Return all that build on `entry`."""
        columns, root, height = self.columns, entry.number, entry.height
        leaves = [leaf for leaf in columns.leaves if columns.ancestor(leaf, height) == root]
        return self._entries_above(leaves, lambda number: number != root)

    def unlinked(self, base: BlockIndexEntry | None = None) -> Iterator[BlockIndexEntry]:
        """Return the entries that did not fail and whose data is there, but not their parents' up to genesis.

        `base`: the block of a snapshot, which has a count of transactions whatever is below it.
        """
        columns = self.columns
        chain_tx_count, prev = columns.chain_tx_count, columns.prev
        starts = [*columns.leaves] if base is None else [*columns.leaves, prev[base.number]]
        for entry in self._entries_above(starts, lambda number: chain_tx_count[number] == 0):
            parent = prev[entry.number]
            if entry.has_data and not entry.failed and parent >= 0 and chain_tx_count[parent] == 0:
                yield entry

    def _entries_above(self, leaves: Iterable[int], wanted: Callable[[int], bool]) -> Iterator[BlockIndexEntry]:
        """Return the entries from `leaves` down to the first that is not `wanted`."""
        prev, seen = self.columns.prev, bytearray(len(self.columns))
        for leaf in leaves:
            number = leaf
            while number >= 0 and not seen[number] and wanted(number):
                seen[number] = 1
                number = prev[number]
        return map(self.entry, compress(range(len(seen)), seen))

    def connectable(self, least_work: int) -> Iterator[BlockIndexEntry]:
        """Return the connectable entries with at least this chainwork, the best (see `work_key`) first."""
        columns = self.columns
        seen = bytearray(len(columns))
        found: list[tuple[int, int, int]] = []

        def descend(number: int) -> None:
            while number >= 0 and not seen[number]:
                seen[number] = 1
                if _is_connectable(columns, number):
                    work = columns.work_of(number)
                    if work >= least_work:
                        heapq.heappush(found, (-work, columns.sequence_id[number], number))
                    return
                number = columns.prev[number]

        for leaf in columns.leaves:
            descend(leaf)
        while found:
            number = heapq.heappop(found)[2]
            yield self.entry(number)
            # Its ancestors have less work: of each branch, one entry at a time waits its turn.
            descend(columns.prev[number])

    def best_valid(self, least: BlockIndexEntry) -> BlockIndexEntry:
        """Return the entry with the most work that did not fail; of equals `least`, else the one with the lowest number."""
        columns = self.columns
        seen = bytearray(len(columns))
        best, best_work = least.number, least.chainwork
        for leaf in sorted(columns.leaves):
            number = leaf
            while number >= 0 and not seen[number] and columns.status[number] & block_status.FAILED_VALID:
                seen[number] = 1
                number = columns.prev[number]
            if number >= 0 and not seen[number] and (work := columns.work_of(number)) > best_work:
                best, best_work = number, work
        return self.entry(best)

    def best_failed(self) -> BlockIndexEntry | None:
        """Return the failed entry with the most work. What builds on a failed block has failed as well."""
        columns = self.columns
        failed = [leaf for leaf in sorted(columns.leaves) if columns.status[leaf] & block_status.FAILED_VALID]
        return self.entry(max(failed, key=columns.work_of)) if failed else None

    def last_block(self) -> BlockIndexEntry | None:
        """Return the block that lies last in the block files, None if there is none."""
        columns = self.columns
        have = (status & block_status.HAVE_DATA for status in columns.status)
        places = zip(columns.file, columns.data_pos, count(), strict=False)
        last = max(compress(places, have), default=None)
        return self.entry(last[2]) if last is not None else None

    def last_undo(self) -> dict[int, BlockPosition]:
        """Return, for each undo file, the position of the last undo data in it."""
        columns = self.columns
        last: dict[int, tuple[int, int]] = {}
        places = zip(columns.status, columns.file, columns.undo_pos, columns.undo_size, strict=True)
        for status, file, offset, size in places:
            if status & block_status.HAVE_UNDO and (file not in last or (offset, size) > last[file]):
                last[file] = (offset, size)
        return {file: BlockPosition(file, *place) for file, place in last.items()}


class Successor:
    """A header on top of an entry, without being in the tree. Satisfies `consensus.position.ChainPosition`."""

    def __init__(self, header: BlockHeader, prev: BlockIndexEntry) -> None:
        self.hash = header.hash
        self.version = header.version
        self.time = header.time
        self.bits = header.bits
        self.prev = prev
        self.height = prev.height + 1

    def ancestor(self, height: int) -> "BlockIndexEntry | Successor | None":
        """Return the ancestor (or itself) at `height`, None outside 0 to its own height."""
        return self if height == self.height else self.prev.ancestor(height)

    def median_time_past(self) -> int:
        """Return the median of the times of this block and its ten ancestors (BIP113)."""
        return self.prev.columns.median_time_past(self.prev.number, self.time)
