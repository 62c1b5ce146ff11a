"""What is done with remembered addresses: learning, trying, choosing and telling them.

Owns: which addresses deserve a place, and which are chosen. Never: files, connections.
Source: Bitcoin Core's src/addrman.cpp. Belongs to the network thread.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.address_manager.consistency import fault_of
from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.placement import BUCKET_SIZE
from clarion.node.net.address_manager.tables import BUCKETS_PER_ADDRESS, AddressTables
from clarion.node.net.messages.addresses import TimedAddress

_HOUR_S = 60 * 60
_DAY_S = 24 * _HOUR_S
_UPDATE_INTERVAL_S = 20 * 60
_REPLACEMENT_S = 4 * _HOUR_S
"""Whoever we were connected to so lately keeps its place."""
_TEST_WINDOW_S = 40 * 60
_MOST_COLLISIONS = 10

logger = logging.getLogger("clarion.addrman")


class AddressManager:
    """Remembered addresses. `now` reads the clock in Unix seconds."""

    def __init__(self, now: Callable[[], int], tables: AddressTables | None = None, *, check_every: int = 0) -> None:
        """`check_every`: about one in so many operations checks that everything fits together; 0: none."""
        self.tables = tables or AddressTables()
        self._now = now
        self._check_every = check_every
        self._last_good = 1
        self._collisions: set[int] = set()
        """Entries of the new table whose place in the tried table is taken."""

    # --- what there is ----------------------------------------------------------------------------------------------

    def size(self, network: Network | None = None, *, is_tried: bool | None = None) -> int:
        """Return how many addresses there are, of a network or of a table if one is given."""
        tables = self.tables
        chosen = {None: (tables.new_counts, tables.tried_counts), True: (tables.tried_counts,)}
        counts = chosen.get(is_tried, (tables.new_counts,))
        return sum(each.total() if network is None else each[network] for each in counts)

    def places(self, *, is_tried: bool) -> Iterator[tuple[int, int, AddressEntry]]:
        """Yield (bucket, position, entry) of a table."""
        for bucket, position, number in self.tables.places(is_tried=is_tried):
            yield bucket, position, self.tables.entries[number]

    def sample(
        self, most: int, percent: int = 0, network: Network | None = None, *, filtered: bool = True
    ) -> list[TimedAddress]:
        """Return addresses in random order: at most `most` and so many percent, 0 for any number.

        Without `filtered` those that look useless are among them.
        """
        self._check()
        tables = self.tables
        count = len(tables.order)
        wanted = count * percent // 100 if percent else count
        if most:
            wanted = min(wanted, most)
        now = self._now()
        found: list[TimedAddress] = []
        for at in range(count):
            if len(found) >= wanted:
                break
            tables.swap(at, at + tables.random.randrange(count - at))
            entry = tables.entries[tables.order[at]]
            if network is not None and entry.endpoint.address.network_class is not network:
                continue
            if not (filtered and entry.is_terrible(now)):
                found.append(entry.shown())
        logger.debug("GetAddr returned %d random addresses", len(found))
        return found

    # --- learning ---------------------------------------------------------------------------------------------------

    def add(self, addresses: Sequence[TimedAddress], source: NetAddress, penalty_s: int = 0) -> bool:
        """Remember what `source` told us; whether any address got a place that it did not have.

        Addresses count as seen `penalty_s` earlier than they say, unless they tell of themselves.
        """
        added = sum(self._add(each, source, penalty_s) for each in addresses)
        if added:
            tables = self.tables
            logger.debug(
                "Added %d addresses (of %d) from %s: %d tried, %d new",
                added, len(addresses), source, tables.tried_count, tables.new_count,
            )  # fmt: skip
        self._check()
        return added > 0

    def _add(self, address: TimedAddress, source: NetAddress, penalty_s: int) -> bool:
        if not address.endpoint.address.is_routable:
            return False
        if address.endpoint.address == source:
            penalty_s = 0
        tables = self.tables
        number = tables.number_of(address.endpoint)
        if number is None:
            number = tables.create(address, source)
            entry = tables.entries[number]
            entry.time = max(0, entry.time - penalty_s)
        else:
            entry = tables.entries[number]
            if not self._renew(entry, address, penalty_s):
                return False
        bucket, position = tables.new_place(entry, source)
        there = tables.new[bucket].get(position)
        if there == number:
            return False
        if there is not None and not self._may_replace(tables.entries[there], entry):
            if not entry.references:
                tables.forget(number)
            return False
        self._clear_new(bucket, position)
        tables.put_new(number, bucket, position)
        logger.debug("Added %s to new[%d][%d]", entry.endpoint, bucket, position)
        return True

    def _renew(self, entry: AddressEntry, address: TimedAddress, penalty_s: int) -> bool:
        """Take in what is new about a known address; whether it may get one more place."""
        online = self._now() - address.time < _DAY_S
        interval = _HOUR_S if online else _DAY_S
        if entry.time < address.time - interval - penalty_s:
            entry.time = max(0, address.time - penalty_s)
        entry.services |= address.services
        if address.time <= entry.time or entry.is_tried or entry.references == BUCKETS_PER_ADDRESS:
            return False
        # Each further place is twice as hard to get as the one before.
        return not entry.references or self.tables.random.randrange(1 << entry.references) == 0

    def _may_replace(self, there: AddressEntry, new: AddressEntry) -> bool:
        return there.is_terrible(self._now()) or (there.references > 1 and new.references == 0)

    def _clear_new(self, bucket: int, position: int) -> None:
        removed = self.tables.clear_new(bucket, position)
        if removed is not None:
            logger.debug("Removed %s from new[%d][%d]", removed.endpoint, bucket, position)

    def set_services(self, endpoint: Endpoint, services: int) -> None:
        """Note what an address offers."""
        entry = self.tables.find(endpoint)
        if entry is not None:
            entry.services = services

    # --- trying -----------------------------------------------------------------------------------------------------

    def attempt(self, endpoint: Endpoint, *, counts: bool) -> None:
        """Note that we tried to connect. A try `counts` as a failure once between two successes elsewhere."""
        entry = self.tables.find(endpoint)
        if entry is None:
            return
        now = self._now()
        entry.last_try = now
        if counts and entry.last_counted_try < self._last_good:
            entry.last_counted_try = now
            entry.attempts += 1

    def connected(self, endpoint: Endpoint) -> None:
        """Note that an address is alive, when the connection to it ends: earlier would tell whom we are connected to."""
        entry = self.tables.find(endpoint)
        now = self._now()
        if entry is not None and now - entry.time > _UPDATE_INTERVAL_S:
            entry.time = now

    def good(self, endpoint: Endpoint) -> bool:
        """Note that we were connected to an address; whether it came into the tried table.

        If its place is taken, it has to wait until the address there has been tested.
        """
        moved = self._good(endpoint, tests=True)
        self._check()
        return moved

    def _good(self, endpoint: Endpoint, *, tests: bool) -> bool:
        now = self._now()
        self._last_good = now
        tables = self.tables
        number = tables.number_of(endpoint)
        if number is None:
            return False
        entry = tables.entries[number]
        entry.last_success = entry.last_try = now
        entry.attempts = 0
        if entry.is_tried or not entry.references:
            return False
        bucket, position = tables.tried_place(entry)
        there = tables.tried[bucket].get(position)
        if tests and there is not None:
            if len(self._collisions) < _MOST_COLLISIONS:
                self._collisions.add(number)
            logger.debug(
                "Collision with %s while attempting to move %s to tried table. Collisions=%d",
                tables.entries[there].endpoint, endpoint, len(self._collisions),
            )  # fmt: skip
            return False
        evicted = tables.move_to_tried(number)
        if evicted is not None:
            logger.debug("Moved %s from tried[%d][%d] to new to make space", evicted.endpoint, bucket, position)
        logger.debug("Moved %s to tried[%d][%d]", endpoint, bucket, position)
        return True

    def resolve_collisions(self) -> None:
        """Decide for addresses that wait for a place in the tried table, as far as the one there has been tested."""
        for number in sorted(self._collisions):
            if self._is_resolved(number):
                self._collisions.discard(number)
        self._check()

    def _is_resolved(self, number: int) -> bool:
        tables = self.tables
        entry = tables.entries.get(number)
        if entry is None:
            return True
        bucket, position = tables.tried_place(entry)
        there = tables.tried[bucket].get(position)
        if there is None:
            self._good(entry.endpoint, tests=False)
            return True
        old, now = tables.entries[there], self._now()
        if now - old.last_success < _REPLACEMENT_S:
            return True
        if now - old.last_try < _REPLACEMENT_S:
            # A minute is enough for a connection.
            if now - old.last_try <= 60:
                return False
            logger.debug("Replacing %s with %s in tried table", old.endpoint, entry.endpoint)
        elif now - entry.last_success > _TEST_WINDOW_S:
            logger.debug("Unable to test; replacing %s with %s in tried table anyway", old.endpoint, entry.endpoint)
        else:
            return False
        self._good(entry.endpoint, tests=False)
        return True

    # --- choosing ---------------------------------------------------------------------------------------------------

    def select_to_test(self) -> AddressEntry | None:
        """Return a random address of the tried table whose place another one waits for."""
        if not self._collisions:
            return None
        number = self.tables.random.choice(sorted(self._collisions))
        entry = self.tables.entries.get(number)
        if entry is None:
            self._collisions.discard(number)
            return None
        bucket, position = self.tables.tried_place(entry)
        there = self.tables.tried[bucket].get(position)
        return None if there is None else self.tables.entries[there]

    def select(self, networks: Collection[Network] = (), *, new_only: bool = False) -> AddressEntry | None:
        """Return a random address, of one of the networks if any are given; both tables are equally likely."""
        new = self._count_of(networks, is_tried=False)
        tried = 0 if new_only else self._count_of(networks, is_tried=True)
        if not new and not tried:
            return None
        random = self.tables.random
        from_tried = bool(tried) and (not new or random.random() < 0.5)
        buckets = self.tables.tried if from_tried else self.tables.new
        now = self._now()
        factor = 1.0
        while True:
            entry = self._entry_in(random.choice(buckets), networks)
            if entry is None:
                continue
            if random.random() < factor * entry.chance(now):
                logger.debug("Selected %s from %s", entry.endpoint, "tried" if from_tried else "new")
                return entry
            factor *= 1.2

    def _count_of(self, networks: Iterable[Network], *, is_tried: bool) -> int:
        if not networks:
            return self.size(is_tried=is_tried)
        return sum(self.size(network, is_tried=is_tried) for network in networks)

    def _entry_in(self, bucket: dict[int, int], networks: Collection[Network]) -> AddressEntry | None:
        """Return the first fitting entry of a bucket behind a random position."""
        if not bucket:
            return None
        start = self.tables.random.randrange(BUCKET_SIZE)
        for position in sorted(bucket, key=lambda each: (each - start) % BUCKET_SIZE):
            entry = self.tables.entries[bucket[position]]
            if not networks or entry.endpoint.address.network in networks:
                return entry
        return None

    def _check(self) -> None:
        if self._check_every and self.tables.random.randrange(self._check_every) == 0:
            tables = self.tables
            what = f"new {tables.new_count}, tried {tables.tried_count}, total {len(tables.order)}"
            logger.debug("CheckAddrman: %s started", what)
            fault = fault_of(tables)
            logger.debug("CheckAddrman: completed")
            assert fault == 0, f"ADDRMAN CONSISTENCY CHECK FAILED!!! err={fault}"
