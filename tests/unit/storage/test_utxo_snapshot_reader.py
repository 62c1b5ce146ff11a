"""Reading files of all coins: what was written comes back, and what is wrong is told in the reference's words."""

from io import BytesIO

import pytest

from clarion.node.errors import DecodeError, SnapshotError
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.coin_compression import compress_amount, compress_coin, varint
from clarion.node.primitives.keys import pubkey_of_secret
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.utxo_snapshot import write_snapshot
from clarion.node.storage.utxo_snapshot_reader import HEAD_BYTES, SnapshotCoins, read_head
from helpers.rows import block_hash, digest

MAGIC = select_params("regtest").magic
HEIGHT = 100


def _key(n: int, index: int) -> bytes:
    return digest(str(n)) + index.to_bytes(4, "big")


def _scripts() -> list[bytes]:
    secret = bytes(31) + b"\x05"
    return [
        b"",
        b"\x51",
        b"\x76\xa9\x14" + bytes(range(20)) + b"\x88\xac",
        b"\xa9\x14" + bytes(range(20)) + b"\x87",
        b"\x21" + pubkey_of_secret(secret) + b"\xac",
        b"\x41" + pubkey_of_secret(secret, compressed=False) + b"\xac",
        b"\x41\x04" + b"\xff" * 64 + b"\xac",
        b"\x6a" * 10_000,
    ]


def _rows() -> list[CoinRow]:
    values = (0, 1, 5_000_000_000, 21_000_000 * 100_000_000, 123_456_789, 10, 99, 1_000)
    rows = [
        (_key(number, index), value, 2 * number + index % 2, script)
        for number, (value, script) in enumerate(zip(values, _scripts(), strict=True))
        for index in (0, 3, 300)[: 1 + number % 3]
    ]
    return sorted(rows)


def _file(rows: list[CoinRow]) -> bytes:
    file = BytesIO()
    write_snapshot(file, MAGIC, block_hash(1), rows)
    return file.getvalue()


def _read(data: bytes) -> list[CoinRow]:
    file = BytesIO(data)
    head = read_head(file, MAGIC)
    return list(SnapshotCoins(file, head.coins, HEIGHT).rows())


def test_what_was_written_comes_back() -> None:
    assert _read(_file(_rows())) == _rows()


def test_every_truncation_is_noticed() -> None:
    data = _file(_rows()[:3])
    for end in range(HEAD_BYTES, len(data)):
        with pytest.raises(SnapshotError, match=r"^Bad snapshot format or truncated snapshot after deserializing"):
            _read(data[:end])


def test_what_comes_behind_the_coins_is_noticed() -> None:
    with pytest.raises(SnapshotError, match=f"coins left over after deserializing {len(_rows())} coins"):
        _read(_file(_rows()) + b"\0")


def test_an_overlong_script_is_one_that_can_not_be_spent() -> None:
    tail = _file([(_key(2, 0), 7, 2, b"\x51")])[HEAD_BYTES:]
    overlong = varint(2) + varint(compress_amount(5)) + varint(6_000_000 + 6) + bytes(6_000_000)
    head = _file([])[: HEAD_BYTES - 8] + (2).to_bytes(8, "little")
    data = head + digest("1") + b"\x01\x00" + overlong + tail
    assert _read(data) == [(_key(1, 0), 5, 2, b"\x6a"), (_key(2, 0), 7, 2, b"\x51")]
    with pytest.raises(SnapshotError, match="truncated snapshot after deserializing 0 coins"):
        _read(data[:5_000_000])


@pytest.mark.parametrize(
    ("outputs", "index", "coin", "reason"),
    [
        (2, 0, compress_coin(1, 2, b""), "Mismatch in coins count in snapshot metadata and actual snapshot data"),
        (1, 0, compress_coin(1, 2 * HEIGHT + 2, b""), "Bad snapshot data after deserializing 0 coins"),
        (1, 0x02000001, compress_coin(1, 2, b""), "Bad snapshot format or truncated snapshot"),
        (1, 0, compress_coin(21 * 10**14 + 1, 2, b""), "deserializing 0 coins - bad tx out value"),
        (1, 0, varint(2**32) + b"\0\6", "Bad snapshot format or truncated snapshot"),
    ],
    ids=["count", "height", "index", "value", "code"],
)
def test_bad_coins(outputs: int, index: int, coin: bytes, reason: str) -> None:
    head = _file([])[: HEAD_BYTES - 8] + (1).to_bytes(8, "little")
    with pytest.raises(SnapshotError, match=reason):
        _read(head + digest("1") + compact_size(outputs) + compact_size(index) + coin)


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [
        (0, b"\xf0\x0f", "Invalid UTXO set snapshot magic bytes"),
        (5, b"\x03", "Version of snapshot 3 does not match any of the supported versions"),
        (7, select_params("main").magic, r"network of the snapshot \(main\) does not match .* this node \(regtest\)"),
        (7, bytes(4), "created for an unrecognized network"),
    ],
    ids=["magic", "version", "network", "unknown"],
)
def test_bad_heads(at: int, new: bytes, reason: str) -> None:
    data = _file([])
    with pytest.raises(DecodeError, match=reason):
        read_head(BytesIO(data[:at] + new + data[at + len(new) :]), MAGIC)
    with pytest.raises(DecodeError, match="end of file"):
        read_head(BytesIO(data[: HEAD_BYTES - 1]), MAGIC)
