"""What lanes remember, on every database."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from clarion.node.errors import ConfigError
from clarion.node.storage.database import Database
from clarion.node.storage.lane_store import DeadLetter, LaneRecord, LaneStore, open_lane_store
from clarion.node.storage.location import locate
from helpers.databases import FakeNetwork, Place

LETTER = DeadLetter("aa.12.3", "tx_added", 5, "cursor 12", b"\x00body", 2, "refused", 9)


def _open(place: Place, network: FakeNetwork | None = None) -> LaneStore:
    return open_lane_store(locate(place.url, place.chain_dir), network or place.network)


@pytest.fixture
def store(place: Place, database: Database) -> Iterator[LaneStore]:
    opened = _open(place)
    yield opened
    opened.close()


def test_lanes_are_stored_by_name(store: LaneStore) -> None:
    record = LaneRecord("cursor 1", "filter", paused=True, stopped="gone")
    assert store.lane("a") is None
    store.save("a", record)
    store.move("a", "cursor 2")
    store.move("b", "cursor 3")
    assert store.lane("a") == replace(record, cursor="cursor 2")
    assert store.lane("b") is None


def test_a_message_is_buried_together_with_the_lanes_place(store: LaneStore) -> None:
    store.save("a", LaneRecord("cursor 11", "filter"))
    store.bury("a", LETTER)
    assert store.letter("a", LETTER.id) == LETTER
    assert store.letter("b", LETTER.id) is None
    found = store.lane("a")
    assert found is not None
    assert found.cursor == "cursor 12"


def test_letters_come_oldest_first_and_go_one_by_one(store: LaneStore) -> None:
    for seq in (30, 4, 100):
        store.bury("a", replace(LETTER, id=f"aa.{seq}.0"))
    assert [letter.id for letter in store.letters("a", 2)] == ["aa.4.0", "aa.30.0"]
    store.update_letter("a", replace(LETTER, id="aa.4.0", attempts=7, error="still"))
    assert [(each.attempts, each.error) for each in store.letters("a", 1)] == [(7, "still")]
    store.drop_letter("a", "aa.4.0")
    assert (store.count_letters("a"), store.count_letters("b")) == (2, 0)


def test_it_outlives_its_closing_and_belongs_to_one_network(durable_place: Place) -> None:
    with durable_place.open():
        first = _open(durable_place)
        first.save("a", LaneRecord("cursor", "filter"))
        first.close()
        second = _open(durable_place)
        assert second.lane("a") == LaneRecord("cursor", "filter")
        second.close()
        with pytest.raises(ConfigError, match="network"):
            _open(durable_place, FakeNetwork("signet", b"\x01\x02\x03\x04"))
