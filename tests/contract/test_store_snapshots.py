"""Files of all coins, and coins as they were, on every database."""

import random
from io import BytesIO
from pathlib import Path

import pytest

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.coin_compression import compress_coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.storage.coin_changes import CoinChanges
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.coin_store import coin_key
from clarion.node.storage.database import Database
from clarion.node.storage.utxo_snapshot import write_snapshot
from helpers.rows import block_hash, coin, digest, outpoint

MAGIC = bytes.fromhex("fabfb5da")
SIZE_OF_HEAD = 51


def _row(at: OutPoint, value: Coin) -> CoinRow:
    return coin_key(at), value.value, value.code, value.script_pubkey


def test_a_file_holds_each_transaction_once(database: Database) -> None:
    coins = {outpoint(n, index): coin(n) for n in range(2) for index in (0, 3)}
    database.coins.flush(coins, block_hash(1))
    file = BytesIO()
    with database.coins.snapshot() as view:
        written = write_snapshot(file, MAGIC, block_hash(1), view.rows())
    head, body = file.getvalue()[:SIZE_OF_HEAD], file.getvalue()[SIZE_OF_HEAD:]
    assert head == b"utxo\xff\x02\x00" + MAGIC + block_hash(1) + b"\x04" + bytes(7)
    assert written.coins == 4
    expected = b""
    for at in sorted({each[:32] for each in coins}):
        found = next(coins[each] for each in coins if each[:32] == at)
        compressed = compress_coin(found.value, found.code, found.script_pubkey)
        expected += at + b"\x02\x00" + compressed + b"\x03" + compressed
    assert body == expected


def test_a_file_that_can_not_be_written_over(database: Database) -> None:
    database.coins.flush({outpoint(n): coin(n) for n in range(3)}, block_hash(1))
    files = BytesIO(), BytesIO()
    with database.coins.snapshot() as view:
        for file, count in zip(files, (None, 3), strict=True):
            write_snapshot(file, MAGIC, block_hash(1), view.rows(), count)
    assert files[0].getvalue() == files[1].getvalue()


def test_many_outputs_are_in_the_order_of_the_reference_s_database() -> None:
    """There 16,512 has three bytes, 80 80 00, and comes before 256, which is 81 00."""
    file = BytesIO()
    numbers = (0, 255, 256, 16_511, 16_512)
    rows = [(digest("tx") + number.to_bytes(4, "big"), 1, 2, b"") for number in numbers]
    write_snapshot(file, MAGIC, bytes(32), rows)
    body = file.getvalue()[SIZE_OF_HEAD + 33 :]
    stored = b"\x02\x01\x06"
    ordered = (b"\x00", b"\xfd\xff\x00", b"\xfd\x80\x40", b"\xfd\x00\x01", b"\xfd\x7f\x40")
    assert body == b"".join(number + stored for number in ordered)


@pytest.mark.parametrize("in_memory", [True, False])
def test_coins_as_they_were(tmp_path: Path, in_memory: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.coin_changes._PAGE", 7)
    rng = random.Random(3)
    coins = {outpoint(n): coin(n) for n in range(60)}
    rows = sorted(_row(*each) for each in coins.items())
    path = None if in_memory else tmp_path / "changes"
    if path is not None:
        path.write_bytes(b"left behind by a crash")
    with CoinChanges(path) as changes:
        for _ in range(5):
            removed = rng.sample(sorted(coins), 9)
            restored = {outpoint(rng.randrange(90)): coin(rng.randrange(99)) for _ in range(9)}
            changes.apply(removed, restored)
            for each in removed:
                del coins[each]
            coins.update(restored)
        assert list(changes.over(rows)) == sorted(_row(*each) for each in coins.items())
    assert list(tmp_path.iterdir()) == []
