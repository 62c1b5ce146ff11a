"""What each block spent, in `rev?????.dat` files, one for each block file.

Owns: the record's layout and its checksum. Never: using it to disconnect a block.

A record, framed by magic and length like a block:

    spent outputs   the exact bytes of /rest/spenttxouts/….bin: a vector, by transaction, of vectors of outputs
    codes           for each output, in the same order, height * 2 + coinbase as little-endian uint32
    count           number of codes, little-endian uint32
    checksum        SHA-256 of the block's hash and everything above, 32 bytes
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from clarion.node.errors import BlockFileError, DecodeError
from clarion.node.primitives.codec import compact_size, read_compact_size, read_var_bytes
from clarion.node.primitives.coin import Coin, encode_outputs
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.flat_files import FlatFiles
from clarion.node.storage.rows import BlockPosition

GENESIS_SPENT = b"\x01\x00"
"""What /rest/spenttxouts answers for a block whose only transaction is its coinbase."""

_CHECKSUM_SIZE = 32
_TAIL_SIZE = 4 + _CHECKSUM_SIZE
_U32 = struct.Struct("<I")
_I64 = struct.Struct("<q")


def encode_spent(spent: Sequence[Sequence[Coin]], encoded: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of /rest/spenttxouts/….bin; `spent[i]` is what transaction `i + 1` spends.

    `encoded[i]` may give the outputs of `spent[i]` as on the wire.
    """
    parts = [compact_size(len(spent) + 1), b"\x00"]
    for coins, outputs in zip(spent, encoded or map(encode_outputs, spent), strict=True):
        parts += (compact_size(len(coins)), outputs)
    return b"".join(parts)


def encode_undo(block_hash: BlockHash, spent: Sequence[Sequence[Coin]], encoded: Sequence[bytes] = ()) -> bytes:
    """Return a block's undo record; the arguments are those of `encode_spent`."""
    codes = [coin.code for coins in spent for coin in coins]
    body = encode_spent(spent, encoded) + struct.pack(f"<{len(codes)}I", *codes) + _U32.pack(len(codes))
    return body + hashlib.sha256(block_hash + body).digest()


def is_whole_record(record: bytes, block_hash: BlockHash) -> bool:
    """Whether an undo record has the checksum of this block's."""
    body_size = len(record) - _CHECKSUM_SIZE
    if body_size < 4:
        return False
    digest = hashlib.sha256(block_hash)
    digest.update(memoryview(record)[:body_size])
    return digest.digest() == record[body_size:]


class UndoFiles:
    """The undo files of a folder. Reads take no lock and may come from any thread or process; one thread appends."""

    def __init__(self, folder: Path, magic: bytes) -> None:
        """`magic` are the network's four bytes. A folder with an obfuscation key is read and written with it."""
        self._files = FlatFiles(folder, "rev", magic)
        self._ends: dict[int, int] = {}

    def recover(self, last: Mapping[int, BlockPosition], *, keep: bool = True) -> int:
        """Say what is known of the files, once, before the first append; return how many torn bytes were cut off.

        `last` maps a file's number to the highest undo position in it that the block index knows. Records behind it are
        kept: if the index is an older copy, the newer one needs them. With `keep` off they are cut too. Files that `last`
        does not name are left alone: appending to one starts behind its end.
        """
        self._ends = {file: position.end for file, position in last.items()}
        if keep:
            self._ends = {file: self._files.end_of_records(file, end) for file, end in self._ends.items()}
        return sum(self._files.cut(file, end) for file, end in self._ends.items())

    def append(
        self, file: int, block_hash: BlockHash, spent: Sequence[Sequence[Coin]], encoded: Sequence[bytes] = ()
    ) -> BlockPosition:
        """Append a block's undo record to undo file `file`, its block file's number. Durable after `sync`.

        `spent` and `encoded` are those of `encode_spent`.
        """
        return self.append_record(file, encode_undo(block_hash, spent, encoded))

    def append_record(self, file: int, record: bytes) -> BlockPosition:
        """Append a record as `read_record` returned it."""
        end = self._ends.get(file)
        position = self._files.write(file, self._files.size(file) if end is None else end, record)
        self._ends[file] = position.end
        return position

    def read_record(self, position: BlockPosition, block_hash: BlockHash) -> bytes:
        """Return a whole record. Raises BlockFileError if it is missing or damaged."""
        return self._read(position, block_hash)[0]

    def read_spent(self, position: BlockPosition, block_hash: BlockHash) -> bytes:
        """Return the bytes of /rest/spenttxouts/….bin. Raises BlockFileError if they are missing or damaged."""
        record, spent_size = self._read(position, block_hash)
        return record[:spent_size]

    def read_undo(self, position: BlockPosition, block_hash: BlockHash) -> list[list[Coin]]:
        """Return what each transaction but the coinbase spends. Raises BlockFileError if it is missing or damaged."""
        record, spent_size = self._read(position, block_hash)
        codes = struct.unpack_from(f"<{(len(record) - _TAIL_SIZE - spent_size) // 4}I", record, spent_size)
        try:
            return _decode_spent(record[:spent_size], codes)
        except (DecodeError, IndexError, struct.error) as error:
            raise self._damaged(position, str(error)) from None

    def _read(self, position: BlockPosition, block_hash: BlockHash) -> tuple[bytes, int]:
        record = self._files.read(position)
        if not is_whole_record(record, block_hash):
            raise self._damaged(position, "the checksum is wrong")
        body_size = len(record) - _CHECKSUM_SIZE
        (count,) = _U32.unpack_from(record, body_size - 4)
        return record, body_size - 4 - 4 * count

    def _damaged(self, position: BlockPosition, reason: str) -> BlockFileError:
        path = self._files.path(position.file)
        return BlockFileError(f"{path}: the undo record at offset {position.offset} is damaged: {reason}")

    def remove(self, file: int) -> None:
        """Delete undo file number `file`, which nothing may refer to any more. Durable after `sync`."""
        self._files.remove(file)
        self._ends.pop(file, None)

    def remove_all(self) -> None:
        """Delete every undo file, durably. Nothing may refer to them any more."""
        for file in self._files.numbers():
            self.remove(file)
        self.sync()

    def path(self, file: int) -> Path:
        """Return the path of undo file number `file`."""
        return self._files.path(file)

    def sync(self) -> None:
        """Make all appended records and new files durable. Raises StorageError."""
        self._files.sync()

    def close(self) -> None:
        """Let go of all descriptors. Does not sync."""
        self._files.close()


def _decode_spent(data: bytes, codes: Sequence[int]) -> list[list[Coin]]:
    transactions, at = read_compact_size(data, 0)
    _, at = read_compact_size(data, at)
    code = iter(codes)
    spent: list[list[Coin]] = []
    for _ in range(transactions - 1):
        count, at = read_compact_size(data, at)
        coins = []
        for _ in range(count):
            (value,) = _I64.unpack_from(data, at)
            script, at = read_var_bytes(data, at + 8)
            coins.append(Coin(value, script, next(code)))
        spent.append(coins)
    return spent
