"""Files of all unspent outputs in the reference's format, as `dumptxoutset` writes them.

Owns: the format, and the hash of what was written. Never: which block the coins belong to, names of files.

    "utxo" ff, version 2 (2 bytes), the network's magic, hash of the block, number of coins (8 bytes); numbers are little-endian
    for each transaction: txid, number of its outputs (CompactSize), for each: its number (CompactSize), the coin
    (`coin_compression`), in the order of the reference's database
"""

import struct
from collections.abc import Iterable
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.coin_compression import compress_coin, varint
from clarion.node.storage.coin_sql import CoinRow

MAGIC = b"utxo\xff"
VERSION = 2
_COUNT_OFFSET = len(MAGIC) + 2 + 4 + 32
_COUNT = struct.Struct("<Q")
_INDEX = struct.Struct(">I")
_CODE_AND_VALUE = struct.Struct("<Iq")
_HASHED_AT_ONCE = 1_000


class WrittenSet(NamedTuple):
    """What a file holds: number of the coins, their `hash_serialized_3` (internal order)."""

    coins: int
    hash_serialized: bytes


def write_snapshot(
    file: BinaryIO, magic: bytes, block_hash: bytes, rows: Iterable[CoinRow], count: int | None = None
) -> WrittenSet:
    """Write coins, given by the order of their keys. `file` stands at its start.

    Without `count`, which must be right, the number is put into the header at the end: the file must be seekable.
    Raises OSError.
    """
    file.write(MAGIC + VERSION.to_bytes(2, "little") + magic + block_hash + _COUNT.pack(count or 0))
    digest = sha256()
    written = 0
    txid = b""
    outputs: list[tuple[int, bytes]] = []
    hashed: list[bytes] = []
    for key, value, code, script in rows:
        if key[:32] != txid:
            if outputs:
                file.write(_transaction(txid, outputs))
            txid, outputs = key[:32], []
            if len(hashed) >= _HASHED_AT_ONCE:
                digest.update(b"".join(hashed))
                hashed = []
        outputs.append((_INDEX.unpack_from(key, 32)[0], compress_coin(value, code, script)))
        hashed.append(key[:32] + key[:31:-1] + _CODE_AND_VALUE.pack(code, value) + var_bytes(script))
        written += 1
    if outputs:
        file.write(_transaction(txid, outputs))
    digest.update(b"".join(hashed))
    if count is None:
        file.seek(_COUNT_OFFSET)
        file.write(_COUNT.pack(written))
    assert count is None or count == written, "the coins did not change meanwhile"
    return WrittenSet(written, sha256(digest.digest()).digest())


def _transaction(txid: bytes, outputs: list[tuple[int, bytes]]) -> bytes:
    if outputs[-1][0] > _ORDERLY:
        # The reference's database is ordered by the bytes of the number's short form.
        outputs.sort(key=lambda output: varint(output[0]))
    parts = [txid, compact_size(len(outputs))]
    for number, coin in outputs:
        parts += (compact_size(number), coin)
    return b"".join(parts)


_ORDERLY = 0x407F
"""Up to this number (two bytes as VARINT) the order of short forms is that of the numbers."""
