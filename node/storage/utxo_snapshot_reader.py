"""Reading a file of all unspent outputs (the format is in `utxo_snapshot`), which anybody may have made.

Owns: decoding it in little memory, and the reference's words for what is wrong with it. Never: whether its contents are
the right ones, which only their hash tells.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from clarion.node.errors import DecodeError, SnapshotError
from clarion.node.params.chain_params import network_of_magic
from clarion.node.primitives.amounts import money_range
from clarion.node.primitives.codec import read_compact_size
from clarion.node.primitives.coin_compression import decompress_amount, read_script, read_varint
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.utxo_snapshot import MAGIC, VERSION

HEAD_BYTES = len(MAGIC) + 2 + 4 + 32 + 8

_READ_BYTES = 4 << 20
_COIN_BYTES = 16_384
"""No transaction's head or coin is longer, but for scripts that can't be spent, which are skipped."""
_MAX_CODE = 2**32 - 1
_MAX_AMOUNT = 2**64 - 1
_MAX_INDEX = 2**32 - 1


class SnapshotHead(NamedTuple):
    """What a file says of itself: the block whose outputs it holds (internal order), and how many there are."""

    base: BlockHash
    coins: int


def read_head(file: BinaryIO, magic: bytes) -> SnapshotHead:
    """Return the head of a file. `magic` is that of our network.

    Raises DecodeError in the reference's words.
    """
    head = file.read(HEAD_BYTES)
    if head[:5] != MAGIC:
        if len(head) < len(MAGIC):
            raise DecodeError("AutoFile::read: end of file")
        raise DecodeError(
            "Invalid UTXO set snapshot magic bytes. Please check if this is indeed a snapshot file or if you are using "
            "an outdated snapshot format."
        )
    if len(head) < HEAD_BYTES:
        raise DecodeError("AutoFile::read: end of file")
    version = int.from_bytes(head[5:7], "little")
    if version != VERSION:
        raise DecodeError(f"Version of snapshot {version} does not match any of the supported versions.")
    theirs = head[7:11]
    if theirs != magic:
        name = network_of_magic(theirs)
        if name is not None:
            raise DecodeError(
                f"The network of the snapshot ({name}) does not match the network of this node "
                f"({network_of_magic(magic) or 'signet'})."
            )
        raise DecodeError(
            "This snapshot has been created for an unrecognized network. This could be a custom signet, a new testnet "
            "or possibly caused by data corruption."
        )
    return SnapshotHead(BlockHash(head[11:43]), int.from_bytes(head[43:51], "little"))


class SnapshotCoins:
    """The coins of a file that stands behind its head. Iterate once."""

    def __init__(self, file: BinaryIO, count: int, base_height: int) -> None:
        """`count`: how many the head promises. No coin may be younger than `base_height`."""
        self._file = file
        self._count = count
        self._base_height = base_height
        self._data = b""
        self._at = 0
        self._ended = False
        self.done = 0
        """Coins read so far."""

    def rows(self) -> Iterator[CoinRow]:
        """Yield the coins in the file's order, as they are stored. Raises SnapshotError, OSError."""
        while self.done < self._count:
            try:
                txid, outputs = self._transaction()
                if outputs > self._count - self.done:
                    raise SnapshotError("Mismatch in coins count in snapshot metadata and actual snapshot data")
                for _ in range(outputs):
                    yield self._coin(txid)
                    self.done += 1
            except DecodeError:
                raise SnapshotError(
                    f"Bad snapshot format or truncated snapshot after deserializing {self.done} coins"
                ) from None
        self._fill(1)
        if self._at < len(self._data):
            raise SnapshotError(f"Bad snapshot - coins left over after deserializing {self._count} coins")

    def _transaction(self) -> tuple[bytes, int]:
        self._fill(_COIN_BYTES)
        at = self._at + 32
        txid = self._data[self._at : at]
        outputs, self._at = read_compact_size(self._data, at)
        return txid, outputs

    def _coin(self, txid: bytes) -> CoinRow:
        if len(self._data) - self._at < _COIN_BYTES:
            self._fill(_COIN_BYTES)
        data = self._data
        index, at = read_compact_size(data, self._at)
        code, at = read_varint(data, at, _MAX_CODE)
        amount, at = read_varint(data, at, _MAX_AMOUNT)
        script, at = read_script(data, at)
        self._skip_to(at)
        if code >> 1 > self._base_height or index >= _MAX_INDEX:
            raise SnapshotError(f"Bad snapshot data after deserializing {self.done} coins")
        value = decompress_amount(amount)
        if not money_range(value):
            raise SnapshotError(f"Bad snapshot data after deserializing {self.done} coins - bad tx out value")
        return txid + index.to_bytes(4, "big"), value, code, script

    def _fill(self, wanted: int) -> None:
        """Have `wanted` bytes at hand, or all that are left."""
        while len(self._data) - self._at < wanted and not self._ended:
            more = self._file.read(_READ_BYTES)
            self._ended = not more
            self._data, self._at = self._data[self._at :] + more, 0

    def _skip_to(self, at: int) -> None:
        """Go on at `at`, which can lie far behind what is at hand. Raises DecodeError if it is behind the file's end."""
        while at > len(self._data):
            if self._ended:
                raise DecodeError("the file ends inside a script")
            at -= len(self._data)
            self._data = self._file.read(_READ_BYTES)
            self._ended = not self._data
        self._at = at
