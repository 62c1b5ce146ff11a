"""The coins, on every database."""

import random
import threading

import pytest

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import make_outpoint, outpoint_index, outpoint_txid
from clarion.node.storage.database import Database
from helpers.databases import Place
from helpers.rows import block_hash, coin, outpoint


def test_new_store_has_no_coins_and_no_tip(database: Database) -> None:
    assert database.coins.tip() is None
    assert database.coins.count() == 0
    assert database.coins.fetch([outpoint(1)]) == {}
    assert database.coins.fetch([]) == {}


def test_flush_stores_replaces_and_deletes_with_its_tip(database: Database) -> None:
    database.coins.flush({outpoint(n): coin(n) for n in range(4)}, block_hash(1))
    database.coins.flush({outpoint(0): None, outpoint(1): coin(77), outpoint(9): None}, block_hash(2))
    found = database.coins.fetch([outpoint(n) for n in range(5)])
    assert found == {outpoint(1): coin(77), outpoint(2): coin(2), outpoint(3): coin(3)}
    assert database.coins.tip() == block_hash(2)
    assert database.coins.count() == 3


def test_coin_values_come_back_exactly(database: Database) -> None:
    coins = [Coin(0, b"", 0), Coin(21_000_000 * 10**8, bytes(range(256)) * 40, 2**32 - 1), Coin(1, b"\x00\xff'", 3)]
    changes = {outpoint(n): value for n, value in enumerate(coins)}
    database.coins.flush(changes, block_hash(0))
    assert database.coins.fetch(list(changes)) == changes


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 65, 499, 500, 501, 1_200], ids=lambda count: f"{count}-coins")
def test_fetch_of_any_number_finds_exactly_what_exists(database: Database, count: int) -> None:
    stored = {outpoint(n): coin(n) for n in range(0, count, 2)}
    database.coins.flush(stored, block_hash(0))
    wanted = [outpoint(n) for n in range(count)]
    random.Random(count).shuffle(wanted)
    assert database.coins.fetch(wanted) == stored


def test_same_outpoint_twice_is_one_coin(database: Database) -> None:
    database.coins.flush({outpoint(1): coin(1)}, block_hash(0))
    assert database.coins.fetch([outpoint(1), outpoint(1)]) == {outpoint(1): coin(1)}


def test_iteration_is_by_txid_then_index(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.coin_store._PAGE", 7)
    indexes = [0, 1, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1]
    changes = {outpoint(n, index): coin(n) for n in range(3) for index in indexes}
    shuffled = list(changes.items())
    random.Random(0).shuffle(shuffled)
    database.coins.flush(dict(shuffled), block_hash(0))
    walked = list(database.coins.iterate())
    expected = sorted(changes.items(), key=lambda item: (outpoint_txid(item[0]), outpoint_index(item[0])))
    assert walked == expected


def test_txids_sort_as_bytes(database: Database) -> None:
    txids = [bytes([first]) + bytes(31) for first in (0xFF, 0x00, 0x80, 0x7F)]
    database.coins.flush({make_outpoint(txid, 0): coin(1) for txid in txids}, block_hash(0))
    assert [outpoint_txid(key) for key, _ in database.coins.iterate()] == sorted(txids)


def test_snapshot_does_not_see_a_later_flush(durable_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.coin_store._PAGE", 2)
    with durable_place.open() as database, durable_place.reader() as reader:
        database.coins.flush({outpoint(n): coin(n) for n in range(6)}, block_hash(1))
        with reader.coins() as view:
            walk = view.iterate()
            first = [next(walk)]
            database.coins.flush({outpoint(n): None for n in range(6)}, block_hash(2))
            assert len(first + list(walk)) == 6
            assert (view.tip(), view.count()) == (block_hash(1), 6)
        assert (database.coins.tip(), database.coins.count()) == (block_hash(2), 0)


def test_fetches_from_threads_during_flushes(database: Database) -> None:
    database.coins.flush({outpoint(n): coin(n) for n in range(600)}, block_hash(0))
    wrong: list[object] = []

    def fetch_often() -> None:
        for _ in range(10):
            found = database.coins.fetch([outpoint(n) for n in range(600)])
            if len(found) != 600:
                wrong.append(len(found))

    threads = [threading.Thread(target=fetch_often) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round_number in range(10):
        database.coins.flush({outpoint(n): coin(n + round_number) for n in range(600)}, block_hash(round_number))
    for thread in threads:
        thread.join()
    assert wrong == []
