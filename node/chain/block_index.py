"""The header tree in memory: every header that the node accepted, with its work and what is known of its block.

Owns: entries, their skip pointers and the look-up by hash. Never: which chain is best, storage.
"""

from collections.abc import Iterator

from clarion.node.consensus.pow import block_proof
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.storage import block_status
from clarion.node.storage.rows import BlockPosition, BlockRow

MEDIAN_TIME_SPAN = 11

SEQUENCE_BEST_CHAIN_FROM_DISK = 0
SEQUENCE_FROM_DISK = 1
"""Ids of blocks that were there at start. Lower wins a tie of work, so the old tip stays the tip over a restart."""


def skip_height(height: int) -> int:
    """Return the height that an entry's skip pointer leads to; any lower number works, this one gives O(log n)."""
    if height < 2:
        return 0
    if height & 1:
        return _clear_lowest_bit(_clear_lowest_bit(height - 1)) + 1
    return _clear_lowest_bit(height)


def _clear_lowest_bit(number: int) -> int:
    return number & (number - 1)


class BlockIndexEntry:
    """One header in the tree. Satisfies `consensus.position.ChainPosition`.

    Written by the chain thread alone, under the chain lock. `chain_tx_count` is 0 while a block on the path from
    genesis is missing. Positions count bytes in the files of storage.
    """

    __slots__ = (
        "bits",
        "chain_tx_count",
        "chainwork",
        "data_pos",
        "data_size",
        "file",
        "hash",
        "height",
        "merkle_root",
        "nonce",
        "prev",
        "sequence_id",
        "skip",
        "status",
        "time",
        "time_max",
        "tx_count",
        "undo_pos",
        "undo_size",
        "version",
    )

    prev: "BlockIndexEntry | None"
    skip: "BlockIndexEntry | None"

    def __init__(self, header: BlockHeader, prev: "BlockIndexEntry | None") -> None:
        self.hash: BlockHash = header.hash
        self.version = header.version
        self.merkle_root = header.merkle_root
        self.time = header.time
        self.bits = header.bits
        self.nonce = header.nonce
        self.prev = prev
        self.height: int = prev.height + 1 if prev else 0
        self.skip = prev.ancestor(skip_height(self.height)) if prev else None
        self.chainwork: int = (prev.chainwork if prev else 0) + block_proof(header.bits)
        self.time_max: int = max(prev.time_max, header.time) if prev else header.time
        self.status = block_status.VALID_TREE
        self.tx_count = 0
        self.chain_tx_count = 0
        self.file = 0
        self.data_pos = 0
        self.data_size = 0
        self.undo_pos = 0
        self.undo_size = 0
        self.sequence_id = SEQUENCE_FROM_DISK

    def ancestor(self, height: int) -> "BlockIndexEntry | None":
        """Return the ancestor (or itself) at `height`, None outside 0 to its own height."""
        if height > self.height or height < 0:
            return None
        entry: BlockIndexEntry = self
        while entry.height != height:
            prev = entry.prev
            assert prev is not None
            skip, to, to_prev = entry.skip, skip_height(entry.height), skip_height(entry.height - 1)
            # Only follow the pointer where going back by one would not lead to a better one.
            if skip is not None and (to == height or (to > height and not (to_prev < to - 2 and to_prev >= height))):
                entry = skip
            else:
                entry = prev
        return entry

    def median_time_past(self) -> int:
        """Return the median of the times of this block and its ten ancestors (BIP113)."""
        times: list[int] = []
        entry: BlockIndexEntry | None = self
        while entry is not None and len(times) < MEDIAN_TIME_SPAN:
            times.append(entry.time)
            entry = entry.prev
        times.sort()
        return times[len(times) // 2]

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
        return not self.failed and (self.status & block_status.VALID_MASK) >= level

    def raise_validity(self, level: int) -> None:
        """Note that the block was checked up to `level`, unless it failed."""
        if not self.failed and (self.status & block_status.VALID_MASK) < level:
            self.status = (self.status & ~block_status.VALID_MASK) | level

    def header(self) -> BlockHeader:
        """Return the header with its hash."""
        prev_hash = self.prev.hash if self.prev else bytes(32)
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


class BlockIndex:
    """Every known header by hash."""

    def __init__(self) -> None:
        self._entries: dict[bytes, BlockIndexEntry] = {}

    def get(self, block_hash: bytes) -> BlockIndexEntry | None:
        """Return the entry of `block_hash` (internal order), None if the header is unknown."""
        return self._entries.get(block_hash)

    def __getitem__(self, block_hash: bytes) -> BlockIndexEntry:
        return self._entries[block_hash]

    def __contains__(self, block_hash: object) -> bool:
        return block_hash in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[BlockIndexEntry]:
        return iter(self._entries.values())

    def add(self, header: BlockHeader) -> BlockIndexEntry:
        """Insert a header whose parent is known (or genesis) and return its entry; a known one is returned as it is."""
        known = self._entries.get(header.hash)
        if known is not None:
            return known
        entry = BlockIndexEntry(header, self._entries.get(header.prev_hash))
        self._entries[header.hash] = entry
        return entry

    def load(self, row: BlockRow) -> BlockIndexEntry:
        """Insert what storage kept of a block. Rows come in the order of their heights."""
        entry = self.add(BlockHeader.parse(row.header))
        entry.status = row.status
        entry.tx_count = row.tx_count
        entry.chain_tx_count = row.chain_tx_count
        entry.file = row.file
        entry.data_pos = row.data_pos
        entry.data_size = row.data_size
        entry.undo_pos = row.undo_pos
        entry.undo_size = row.undo_size
        return entry
