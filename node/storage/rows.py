"""The values that go in and out of the stores.

Owns: their shape. Never: SQL.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clarion.node.events.row import EventRow
from clarion.node.primitives.ids import BlockHash


class BlockPosition(NamedTuple):
    """Where a record lies: `offset` is its first byte behind magic and length, as the reference counts it."""

    file: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset of the first byte behind the record."""
        return self.offset + self.length


class StoredBlock(NamedTuple):
    """A block in the block files, known to the index or not yet."""

    block_hash: BlockHash
    position: BlockPosition


class BlockRow(NamedTuple):
    """One block or header of the index.

    `header` are the 80 bytes, `chainwork` is a number below 2^256, `status` holds `block_status` bits. The numbers of
    transactions are 0 until the block's data (for `chain_tx_count`: its ancestors' too) is known. Undo data lies in the
    undo file of the same number as the block file. Positions mean something only with HAVE_DATA and HAVE_UNDO.
    """

    hash: BlockHash
    header: bytes
    height: int
    chainwork: int
    status: int
    tx_count: int = 0
    chain_tx_count: int = 0
    file: int = 0
    data_pos: int = 0
    data_size: int = 0
    undo_pos: int = 0
    undo_size: int = 0
    sequence_id: int = 0

    @property
    def prev_hash(self) -> BlockHash:
        """The parent's hash, internal order."""
        return BlockHash(self.header[4:36])

    @property
    def time(self) -> int:
        """The header's time in Unix seconds."""
        return int.from_bytes(self.header[68:72], "little")

    @property
    def data_position(self) -> BlockPosition:
        """Where the block lies."""
        return BlockPosition(self.file, self.data_pos, self.data_size)

    @property
    def undo_position(self) -> BlockPosition:
        """Where its undo data lies."""
        return BlockPosition(self.file, self.undo_pos, self.undo_size)


class BlockPage(NamedTuple):
    """Rows of the index in columns: `BlockRow`'s fields, each with its values. Works are 32 bytes, big-endian."""

    hash: Sequence[bytes] = ()
    header: Sequence[bytes] = ()
    height: Sequence[int] = ()
    chainwork: Sequence[bytes] = ()
    status: Sequence[int] = ()
    tx_count: Sequence[int] = ()
    chain_tx_count: Sequence[int] = ()
    file: Sequence[int] = ()
    data_pos: Sequence[int] = ()
    data_size: Sequence[int] = ()
    undo_pos: Sequence[int] = ()
    undo_size: Sequence[int] = ()
    sequence_id: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ChainCommit:
    """What one tip commit writes, all or nothing.

    In this order: `blocks` are inserted or replaced by hash; with `disconnect_to` the active chain is cut above that
    height (-1 cuts all of it); `connect` adds (height, hash) to it; `events` are appended to the log in their order,
    numbered by the store; `meta` sets keys.
    """

    blocks: Sequence[BlockRow] = ()
    disconnect_to: int | None = None
    connect: Sequence[tuple[int, BlockHash]] = ()
    events: Sequence[EventRow] = ()
    meta: Mapping[str, bytes] = field(default_factory=dict)
