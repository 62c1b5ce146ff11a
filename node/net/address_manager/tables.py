"""The tables of remembered addresses: new ones that we were told of, and tried ones that we were connected to.

Owns: the entries, the buckets and the counts, kept in step. Never: which entries deserve their place.
Source: Bitcoin Core's src/addrman.cpp.
"""

import random
import secrets
from collections import Counter
from collections.abc import Iterator

from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.placement import NEW_BUCKETS, TRIED_BUCKETS, Placement
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.network_groups import NetGroups

BUCKETS_PER_ADDRESS = 8
"""In so many buckets of the new table an address may be, if several tell of it."""


class AddressTables:
    """Entries by number. Positions in buckets hold numbers."""

    def __init__(
        self, key: bytes | None = None, *, deterministic: bool = False, groups: NetGroups | None = None
    ) -> None:
        """`key` decides about places; it is random by default. `groups` are those without a map by default."""
        self.random: random.Random = random.Random(0) if deterministic else random.SystemRandom()
        fixed = b"\x01".ljust(32, b"\0") if deterministic else secrets.token_bytes(32)
        self.placement = Placement(key or fixed, groups)
        self.entries: dict[int, AddressEntry] = {}
        self.order: list[int] = []
        """All entries, in an order that is shuffled while they are given out."""
        self.new: list[dict[int, int]] = [{} for _ in range(NEW_BUCKETS)]
        self.tried: list[dict[int, int]] = [{} for _ in range(TRIED_BUCKETS)]
        self.new_counts: Counter[Network] = Counter()
        self.tried_counts: Counter[Network] = Counter()
        self._numbers: dict[Endpoint, int] = {}
        self._next = 0

    @property
    def new_count(self) -> int:
        """How many entries are in the new table."""
        return self.new_counts.total()

    @property
    def tried_count(self) -> int:
        """How many entries are in the tried table."""
        return self.tried_counts.total()

    def number_of(self, endpoint: Endpoint) -> int | None:
        """Return the number of an address's entry."""
        return self._numbers.get(endpoint)

    def find(self, endpoint: Endpoint) -> AddressEntry | None:
        """Return the entry of an address."""
        number = self._numbers.get(endpoint)
        return None if number is None else self.entries[number]

    # --- entries ----------------------------------------------------------------------------------------------------

    def create(self, address: TimedAddress, source: NetAddress) -> int:
        """Return the number of a new entry, which is in no bucket yet."""
        return self.insert(AddressEntry(address.endpoint, address.services, address.time, source))

    def insert(self, entry: AddressEntry) -> int:
        """Take an entry in that is in no bucket, and return its number."""
        number = self._next
        self._next += 1
        self.entries[number] = entry
        self._numbers[entry.endpoint] = number
        entry.random_position = len(self.order)
        self.order.append(number)
        self._counts(entry)[entry.endpoint.address.network] += 1
        return number

    def forget(self, number: int) -> None:
        """Remove an entry that is in no bucket."""
        entry = self.entries.pop(number)
        assert not entry.is_tried
        assert entry.references == 0
        last = self.order.pop()
        if last != number:
            self.order[entry.random_position] = last
            self.entries[last].random_position = entry.random_position
        self._counts(entry)[entry.endpoint.address.network] -= 1
        if self._numbers.get(entry.endpoint) == number:
            del self._numbers[entry.endpoint]

    def swap(self, first: int, second: int) -> None:
        """Exchange two places of the order."""
        order = self.order
        order[first], order[second] = order[second], order[first]
        self.entries[order[first]].random_position = first
        self.entries[order[second]].random_position = second

    def _counts(self, entry: AddressEntry) -> Counter[Network]:
        return self.tried_counts if entry.is_tried else self.new_counts

    # --- buckets ----------------------------------------------------------------------------------------------------

    def new_place(self, entry: AddressEntry, source: NetAddress | None = None) -> tuple[int, int]:
        """Return bucket and position in the new table, for the first source by default."""
        bucket = self.placement.new_bucket(entry.endpoint, source or entry.source)
        return bucket, self.placement.position(entry.endpoint, bucket, is_new=True)

    def tried_place(self, entry: AddressEntry) -> tuple[int, int]:
        """Return bucket and position in the tried table."""
        bucket = self.placement.tried_bucket(entry.endpoint)
        return bucket, self.placement.position(entry.endpoint, bucket, is_new=False)

    def put_new(self, number: int, bucket: int, position: int) -> None:
        """Put an entry into a free place of the new table."""
        assert position not in self.new[bucket]
        self.new[bucket][position] = number
        self.entries[number].references += 1

    def clear_new(self, bucket: int, position: int) -> AddressEntry | None:
        """Free a place of the new table; return the entry that was there, which is forgotten if it has no other."""
        number = self.new[bucket].pop(position, None)
        if number is None:
            return None
        entry = self.entries[number]
        entry.references -= 1
        if entry.references == 0:
            self.forget(number)
        return entry

    def move_to_tried(self, number: int) -> AddressEntry | None:
        """Move an entry from the new to the tried table; return the one that had its place, which is new again."""
        entry = self.entries[number]
        network = entry.endpoint.address.network
        self._leave_new_buckets(number, entry)
        self.new_counts[network] -= 1
        bucket, position = self.tried_place(entry)
        evicted = self.tried[bucket].pop(position, None)
        if evicted is not None:
            self._move_back(evicted)
        self.tried[bucket][position] = number
        entry.is_tried = True
        self.tried_counts[network] += 1
        return None if evicted is None else self.entries[evicted]

    def _leave_new_buckets(self, number: int, entry: AddressEntry) -> None:
        start = self.placement.new_bucket(entry.endpoint, entry.source)
        for step in range(NEW_BUCKETS):
            bucket = (start + step) % NEW_BUCKETS
            places = self.new[bucket]
            if number not in places.values():
                continue
            del places[self.placement.position(entry.endpoint, bucket, is_new=True)]
            entry.references -= 1
            if entry.references == 0:
                return

    def _move_back(self, number: int) -> None:
        entry = self.entries[number]
        network = entry.endpoint.address.network
        entry.is_tried = False
        self.tried_counts[network] -= 1
        bucket, position = self.new_place(entry)
        self.clear_new(bucket, position)
        self.new_counts[network] += 1
        self.put_new(number, bucket, position)

    def places(self, *, is_tried: bool) -> Iterator[tuple[int, int, int]]:
        """Yield (bucket, position, number) of a table, in order."""
        for bucket, places in enumerate(self.tried if is_tried else self.new):
            for position, number in sorted(places.items()):
                yield bucket, position, number
