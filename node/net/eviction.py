"""Which inbound peer has to make room for another.

Owns: the choice. Never: connections.
Source: Bitcoin Core's src/node/eviction.cpp: peers that are best in something that an attacker can hardly fake are kept.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clarion.node.net.address import Network

_DISADVANTAGED = (Network.CJDNS, Network.I2P, None, Network.ONION)
"""Networks whose peers are slow by nature; None stands for local peers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a peer that might go. Times in microseconds, 0 for never."""

    id: int
    connected_us: int
    shortest_ping_us: int | None
    last_block: int
    last_transaction: int
    has_wanted_services: bool
    relays_txs: bool
    has_bloom_filter: bool
    group: int
    """The address's group under a key that only we know."""
    prefer_evict: bool
    is_local: bool
    network: Network
    is_protected: bool
    """It has the noban permission, or we connected to it."""


Key = Callable[[Candidate], Any]


def select_peer_to_evict(candidates: list[Candidate]) -> int | None:
    """Return the id of the inbound peer that goes, None if all are worth keeping."""
    left = [each for each in candidates if not each.is_protected]
    left = _keep_best(left, lambda each: each.group, 4)
    # Nobody is nearer than it is.
    left = _keep_best(left, _nearness, 8)
    left = _keep_best(left, _usefulness_for_transactions, 4)
    left = _keep_best(left, _usefulness_without_transactions, 8, lambda c: not c.relays_txs and c.has_wanted_services)
    left = _keep_best(left, _usefulness_for_blocks, 4)
    left = _keep_share(left)
    if any(each.prefer_evict for each in left):
        left = [each for each in left if each.prefer_evict]
    return _youngest_of_largest_group(left) if left else None


def _age(candidate: Candidate) -> int:
    return -candidate.connected_us


def _nearness(candidate: Candidate) -> float:
    return float("-inf") if candidate.shortest_ping_us is None else -candidate.shortest_ping_us


def _usefulness_for_transactions(candidate: Candidate) -> tuple[Any, ...]:
    return (candidate.last_transaction, candidate.relays_txs, not candidate.has_bloom_filter, _age(candidate))


def _usefulness_for_blocks(candidate: Candidate) -> tuple[Any, ...]:
    return (candidate.last_block, candidate.has_wanted_services, _age(candidate))


def _usefulness_without_transactions(candidate: Candidate) -> tuple[Any, ...]:
    return (not candidate.relays_txs, *_usefulness_for_blocks(candidate))


def _keep_best(
    candidates: list[Candidate],
    key: Key,
    count: int,
    condition: Callable[[Candidate], bool] = lambda candidate: True,
) -> list[Candidate]:
    """Return the candidates in the order of `key` without those of the last `count` that meet `condition`."""
    ordered = sorted(candidates, key=key)
    split = len(ordered) - min(count, len(ordered))
    return ordered[:split] + [each for each in ordered[split:] if not condition(each)]


def _keep_share(candidates: list[Candidate]) -> list[Candidate]:
    """Keep half: up to a quarter by disadvantaged network, the rest by how long they have been connected."""
    to_keep = len(candidates) // 2
    left = _keep_disadvantaged(candidates, to_keep // 2)
    kept = len(candidates) - len(left)
    return _keep_best(left, _age, to_keep - kept)


def _keep_disadvantaged(candidates: list[Candidate], most: int) -> list[Candidate]:
    """Share `most` places among the disadvantaged networks, beginning with the one that has fewest candidates."""
    left = candidates
    counts = {network: sum(_is_from(each, network) for each in left) for network in _DISADVANTAGED}
    networks = sorted(_DISADVANTAGED, key=lambda network: counts[network])
    kept = 0
    while kept < most:
        present = [network for network in networks if counts[network]]
        if not present:
            break
        share = max((most - kept) // len(present), 1)
        kept_before = kept
        for network in present:
            remaining = _keep_best(left, _network_key(network), share, _from(network))
            kept += len(left) - len(remaining)
            counts[network] -= len(left) - len(remaining)
            left = remaining
            if kept >= most:
                break
        if kept == kept_before:
            break
    return left


def _is_from(candidate: Candidate, network: Network | None) -> bool:
    return candidate.is_local if network is None else candidate.network is network


def _from(network: Network | None) -> Callable[[Candidate], bool]:
    return lambda candidate: _is_from(candidate, network)


def _network_key(network: Network | None) -> Key:
    return lambda candidate: (_is_from(candidate, network), _age(candidate))


def _youngest_of_largest_group(candidates: list[Candidate]) -> int:
    groups: dict[int, list[Candidate]] = defaultdict(list)
    for each in sorted(candidates, key=_age):
        groups[each.group].append(each)
    # Of groups of the same size, the one whose youngest member came last.
    largest = max(groups.values(), key=lambda group: (len(group), group[0].connected_us))
    return largest[0].id
