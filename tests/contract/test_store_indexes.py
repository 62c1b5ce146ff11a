"""The databases of indexes, on every database."""

from collections.abc import Iterator

import pytest

from clarion.node.storage.database import Database
from clarion.node.storage.index_store import IndexReader, IndexStore, IndexTip
from clarion.node.storage.location import locate
from helpers.databases import FakeNetwork, Place
from helpers.rows import block_hash

NAME = "tests"


@pytest.fixture
def store(place: Place, database: Database) -> Iterator[IndexStore]:
    opened = database.open_index(NAME, place.network)
    yield opened
    opened.close()


def reader_of(place: Place) -> IndexReader:
    return IndexReader(locate(place.url, place.chain_dir), place.chain_dir, NAME)


def tip(number: int) -> IndexTip:
    return IndexTip(block_hash(number), number)


def test_new_index_is_empty(store: IndexStore) -> None:
    assert store.tip() is None
    assert store.get(b"key") is None


def test_commit_stores_replaces_and_deletes_with_its_tip(store: IndexStore) -> None:
    store.commit({b"a": b"1", b"b": b"2", b"c": b""}, tip(1))
    store.commit({b"a": None, b"b": b"\x00\xff", b"gone": None}, tip(2))
    assert [store.get(key) for key in (b"a", b"b", b"c")] == [None, b"\x00\xff", b""]
    assert store.tip() == tip(2)


def test_readers_see_one_state_in_the_order_of_keys(place: Place, store: IndexStore) -> None:
    store.commit({bytes((number,)): b"old" for number in (3, 1, 200)}, tip(1))
    reader = reader_of(place)
    with reader.snapshot() as view:
        assert view.tip() == tip(1)
        if place.kind != "sqlite-memory":
            store.commit({b"\x02": b"new"}, tip(2))
        assert [key for key, _ in view.items()] == [b"\x01", b"\x03", b"\xc8"]
        assert view.get_many([b"\x01", b"\x02", b"\xc8"]) == {b"\x01": b"old", b"\xc8": b"old"}
    reader.close()


def test_many_keys_at_once(place: Place, store: IndexStore) -> None:
    keys = [number.to_bytes(4, "big") for number in range(1_200)]
    store.commit(dict.fromkeys(keys, b"value"), tip(1))
    reader = reader_of(place)
    with reader.snapshot() as view:
        assert sorted(view.get_many([*keys, b"other"])) == keys
    reader.close()


def test_wiped_index_is_empty(store: IndexStore) -> None:
    store.commit({b"a": b"1"}, tip(1))
    store.wipe()
    assert (store.tip(), store.get(b"a")) == (None, None)


def test_index_outlives_its_closing(durable_place: Place) -> None:
    with durable_place.open() as database:
        store = database.open_index(NAME, durable_place.network)
        store.commit({b"a": b"1"}, tip(1))
        store.close()
    with durable_place.open() as database:
        store = database.open_index(NAME, durable_place.network)
        assert (store.tip(), store.get(b"a")) == (tip(1), b"1")
        store.close()


def test_index_of_another_network_is_emptied(durable_place: Place) -> None:
    with durable_place.open() as database:
        store = database.open_index(NAME, durable_place.network)
        store.commit({b"a": b"1"}, tip(1))
        store.close()
        store = database.open_index(NAME, FakeNetwork(magic=b"\x01\x02\x03\x04"))
        assert (store.tip(), store.get(b"a")) == (None, None)
        store.close()
