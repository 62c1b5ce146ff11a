"""Which inbound peer makes room."""

import dataclasses
import random

import pytest

from clarion.node.net.address import Network
from clarion.node.net.eviction import Candidate, select_peer_to_evict

PLAIN = Candidate(
    id=0,
    connected_us=0,
    shortest_ping_us=None,
    last_block=0,
    last_transaction=0,
    has_wanted_services=False,
    relays_txs=True,
    has_bloom_filter=False,
    group=0,
    prefer_evict=False,
    is_local=False,
    network=Network.IPV4,
    is_protected=False,
)


def crowd(count: int, **changes: object) -> list[Candidate]:
    """Return peers that differ in number, age and group only; the last is the youngest."""
    return [
        dataclasses.replace(PLAIN, **{"id": number, "connected_us": number, "group": number % 7, **changes})
        for number in range(count)
    ]


def evicted(candidates: list[Candidate]) -> set[int]:
    """Return who goes, one after the other, until all are kept."""
    left = list(candidates)
    gone: set[int] = set()
    random.Random(1).shuffle(left)
    while (chosen := select_peer_to_evict(left)) is not None:
        gone.add(chosen)
        left = [each for each in left if each.id != chosen]
    return gone


def test_few_peers_and_protected_ones_are_kept() -> None:
    assert select_peer_to_evict([]) is None
    assert select_peer_to_evict(crowd(20)) is None
    assert select_peer_to_evict(crowd(100, is_protected=True)) is None
    assert select_peer_to_evict(crowd(100)) is not None


@pytest.mark.parametrize(
    ("change", "protected"),
    [
        ({"shortest_ping_us": 1}, 8),
        ({"last_transaction": 9}, 4),
        ({"last_block": 9}, 4),
        ({"group": 99}, 4),
        ({"last_block": 9, "relays_txs": False, "has_wanted_services": True}, 12),
    ],
    ids=["near", "transactions", "blocks", "group", "blocks-only"],
)
def test_the_best_in_something_are_kept(change: dict[str, object], protected: int) -> None:
    candidates = crowd(100)
    for number in range(protected):
        candidates[99 - number] = dataclasses.replace(candidates[99 - number], **change)
    assert evicted(candidates).isdisjoint(range(100 - protected, 100))


@pytest.mark.parametrize("network", [Network.ONION, Network.I2P, Network.CJDNS])
def test_a_quarter_is_kept_for_slow_networks(network: Network) -> None:
    # The 20 that others protect come from elsewhere.
    best = [dataclasses.replace(each, id=100 + each.id, shortest_ping_us=1) for each in crowd(8)]
    rest = [dataclasses.replace(each, network=network) if each.id >= 32 else each for each in crowd(40)]
    first = select_peer_to_evict(best + rest)
    assert first is not None
    assert rest[first].network is Network.IPV4


def test_the_youngest_of_the_largest_group_goes() -> None:
    candidates = [dataclasses.replace(each, group=5 if each.id % 3 else 1 + each.id) for each in crowd(100)]
    chosen = select_peer_to_evict(candidates)
    assert chosen is not None
    assert candidates[chosen].group == 5
    assert chosen > 90


def test_who_misbehaved_before_goes_first() -> None:
    candidates = crowd(100)
    candidates[60] = dataclasses.replace(candidates[60], prefer_evict=True)
    assert select_peer_to_evict(candidates) == 60
