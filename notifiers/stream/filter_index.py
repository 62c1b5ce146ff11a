"""All filters of a process as one index: who wants an event, without asking everybody.

Owns: the look-up by type, script, outpoint, txid and prefix. Never: what a filter means (`filters`).
A look-up costs as much as the event has outputs and inputs, however many filters and keys there are. What can't be
looked up, a smallest value without any key, is tried one by one.
"""

from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Generic, TypeVar

from clarion.node.events.events import Event, TxAdded, TxConfirmed, TxRemoved, TxUnconfirmed
from clarion.node.events.mempool_rows import BLOCK_REASON
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.transaction import Transaction
from clarion.notifiers.stream.filters import EventFilter, EventType, StreamEvent

Who = TypeVar("Who", bound=Hashable)

_FILTERED = frozenset((TxAdded, TxConfirmed, TxUnconfirmed, TxRemoved))
"""Types of event about which a filter may say more than that it wants them."""

_SCRIPT = attrgetter("script_pubkey")


class Lookup(Generic[Who]):
    """Who waits for a key.

    Subscribers are numbers here, and so is a group of them that waits for the same key: a dictionary of bytes and
    numbers, however many, costs no object for a key, and the cyclic collector does not look through it.
    """

    def __init__(self) -> None:
        self.keys: dict[bytes, int] = {}
        """By key the number of who waits; of a group, its negative."""
        self._numbers: dict[Who, int] = {}
        self._who: dict[int, Who] = {}
        self._groups: dict[int, set[int]] = {}
        self._next = 1

    def add(self, keys: Iterable[bytes], who: Who) -> None:
        """Have `who` wait for keys."""
        number = self._numbers.get(who)
        if number is None:
            number = self._numbers[who] = self._new_number()
            self._who[number] = who
        for key in keys:
            waiting = self.keys.setdefault(key, number)
            if waiting < 0:
                self._groups[waiting].add(number)
            elif waiting != number:
                group = self.keys[key] = -self._new_number()
                self._groups[group] = {waiting, number}

    def remove(self, keys: Iterable[bytes], who: Who) -> None:
        """Have `who`, who waits for all of these keys and no others, wait no more."""
        number = self._numbers.pop(who, None)
        if number is None:
            return
        del self._who[number]
        for key in keys:
            waiting = self.keys.get(key, 0)
            if waiting < 0:
                self._groups[waiting].discard(number)
                if not self._groups[waiting]:
                    del self.keys[key], self._groups[waiting]
            elif waiting == number:
                del self.keys[key]

    def find(self, keys: Iterable[bytes]) -> Iterator[Who]:
        """Yield who waits for one of the keys."""
        for key in keys:
            waiting = self.keys.get(key, 0)
            if waiting > 0:
                yield self._who[waiting]
            elif waiting < 0:
                yield from map(self._who.__getitem__, self._groups[waiting])

    def _new_number(self) -> int:
        self._next += 1
        return self._next


class _Prefixes(Generic[Who]):
    """Who waits for data that begins with a prefix: one look-up for each length of prefix that somebody has."""

    def __init__(self) -> None:
        self._lookup: Lookup[Who] = Lookup()
        self._lengths: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._lengths)

    def add(self, prefixes: Iterable[bytes], who: Who) -> None:
        for prefix in prefixes:
            self._lengths[len(prefix)] = self._lengths.get(len(prefix), 0) + 1
            self._lookup.add((prefix,), who)

    def remove(self, prefixes: Collection[bytes], who: Who) -> None:
        for prefix in prefixes:
            self._lengths[len(prefix)] -= 1
            if not self._lengths[len(prefix)]:
                del self._lengths[len(prefix)]
        self._lookup.remove(prefixes, who)

    def find(self, data: bytes) -> Iterator[Who]:
        for length in self._lengths:
            if length <= len(data):
                yield from self._lookup.find((data[:length],))


class FilterIndex(Generic[Who]):
    """Subscribers by what they want. Not thread-safe."""

    def __init__(self) -> None:
        self._filters: dict[Who, EventFilter] = {}
        self._by_type: dict[EventType, set[Who]] = {}
        self._unasked: dict[EventType, set[Who]] = {}
        self._by_value: dict[EventType, set[Who]] = {}
        self._removed: set[Who] = set()
        self._spent: set[Who] = set()
        self._exact: set[Who] = set()
        """Those for whom a key that fits is all that there is to ask, but for the type."""
        self._txids, self._scripts = Lookup[Who](), Lookup[Who]()
        self._hashes, self._outpoints = Lookup[Who](), Lookup[Who]()
        self._prefixes = _Prefixes[Who]()
        self._has_grown = False
        self._changes = 0

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, who: Who, wanted: EventFilter) -> None:
        """Add a subscriber; one that is there gets the new filter."""
        self.remove(who)
        self._changes += 1
        self._filters[who] = wanted
        for type_ in wanted.types:
            self._by_type.setdefault(type_, set()).add(who)
            if type_ not in _FILTERED or _takes_all(wanted, type_):
                self._unasked.setdefault(type_, set()).add(who)
            elif not wanted.has_keys:
                self._by_value.setdefault(type_, set()).add(who)
        for lookup, keys in self._keys(wanted):
            lookup.add(keys, who)
        for window in wanted.windows:
            window.take_fresh()
        if wanted.op_returns:
            self._prefixes.add(frozenset(wanted.op_returns), who)
        if wanted.has_content_keys:
            self._removed.add(who)
        if wanted.needs_spent:
            self._spent.add(who)
        if wanted.has_keys and not wanted.windows and not wanted.min_value_sat:
            self._exact.add(who)

    def remove(self, who: Who) -> None:
        """Forget a subscriber; one that is not there is fine."""
        wanted = self._filters.pop(who, None)
        if wanted is None:
            return
        self._changes += 1
        for by_type in (self._by_type, self._unasked, self._by_value):
            for type_ in wanted.types & by_type.keys():
                by_type[type_].discard(who)
        for lookup, keys in self._keys(wanted):
            lookup.remove(keys, who)
        if wanted.op_returns:
            self._prefixes.remove(frozenset(wanted.op_returns), who)
        self._removed.discard(who)
        self._spent.discard(who)
        self._exact.discard(who)

    def find(self, told: StreamEvent) -> list[Who]:
        """Return who wants the event."""
        return next(self.find_all([told]))

    def find_all(self, events: Sequence[StreamEvent]) -> Iterator[list[Who]]:
        """Yield who wants each of the events, in their order; leave the lists as they are.

        The scripts of all are looked up together, and events that can fit no key share one list for each type: for a
        block's thousands that takes a quarter of the time.
        """
        fitting = self._script_hits(events, 0)
        changes = self._changes - 1
        for at, told in enumerate(events):
            if changes != self._changes:
                # Somebody came or went, perhaps since the last event.
                changes, unasked, keys = self._changes, dict[EventType, list[Who]](), self._has_rare_keys()
            type_, scripts = type(told.event), fitting.get(at, ())
            if scripts or (type_ in _FILTERED and (keys or told.tx is None or told.tx.txid in self._txids.keys)):
                yield self._find(told, scripts)
            else:
                if type_ not in unasked:
                    unasked[type_] = list(self._unasked.get(type_, ()))
                yield unasked[type_]
            if self._has_grown:
                # A window has got scripts that later events may have.
                self._has_grown = False
                fitting = self._script_hits(events, at + 1)

    def _find(self, told: StreamEvent, scripts: Sequence[bytes]) -> list[Who]:
        event, type_ = told.event, type(told.event)
        found = list(self._unasked.get(type_, ()))
        if type_ not in _FILTERED:
            return found
        if isinstance(event, TxRemoved):
            candidates = set(self._txids.find((event.txid,)))
            if event.reason != BLOCK_REASON:
                candidates |= self._removed
        else:
            assert told.tx is not None
            candidates = self._interested(told, told.tx)
            if scripts:
                candidates.update(self._scripts.find(scripts))
            if by_value := self._by_value.get(type_):
                candidates |= by_value
        if candidates:
            found += [who for who in candidates if self._accepts(who, told)]
        return found

    def _script_hits(self, events: Sequence[StreamEvent], begin: int) -> dict[int, list[bytes]]:
        """Return by an event's place, from `begin` on, the scripts of it that somebody waits for; most have none."""
        keys = self._scripts.keys
        if not keys:
            return {}
        places, moved = list[int](), list[Sequence[SpentOutput]]()
        for at, told in enumerate(events[begin:], begin):
            if told.tx is not None:
                places.append(at)
                moved.append(told.tx.outputs)
                if told.spent:
                    places.append(at)
                    moved.append(told.spent)
        # One pass in C, which leaves a byte for each script: of a full block's ten thousand a few are wanted, and a
        # list of all would take half as long again. Taken in parts, between which messages are encoded, it takes longer.
        fits = bytes(map(keys.__contains__, map(_SCRIPT, chain.from_iterable(moved))))
        found = fits.find(1)
        ends = list(accumulate(map(len, moved))) if found >= 0 else []
        hits: dict[int, list[bytes]] = {}
        while found >= 0:
            at = bisect_right(ends, found)
            hits.setdefault(places[at], []).append(moved[at][found - ends[at]].script_pubkey)
            found = fits.find(1, found + 1)
        return hits

    def _has_rare_keys(self) -> bool:
        """Whether there is something to look for that is neither script nor txid."""
        others = self._outpoints.keys or self._hashes.keys or self._prefixes or any(self._by_value.values())
        return bool(others)

    def types(self) -> frozenset[type[Event]]:
        """Return every type of event that somebody wants."""
        return frozenset(type_ for type_, waiting in self._by_type.items() if waiting)

    def needs_spent(self) -> bool:
        """Whether somebody needs to know what transactions of blocks spend."""
        return bool(self._spent)

    def _interested(self, told: StreamEvent, tx: Transaction) -> set[Who]:
        """Return who has a key that fits, scripts apart. Most transactions interest nobody: this is all that is done."""
        interested: set[Who] = set()
        if tx.txid in self._txids.keys:
            interested.update(self._txids.find((tx.txid,)))
        if keys := self._outpoints.keys:
            interested.update(self._outpoints.find([each.prevout for each in tx.inputs if each.prevout in keys]))
        if self._hashes.keys:
            interested.update(self._hashes.find(told.script_hashes))
        if self._prefixes:
            interested.update(*map(self._prefixes.find, told.op_returns))
        return interested

    def _accepts(self, who: Who, told: StreamEvent) -> bool:
        """Whether an event passes of which a key fits, where there are keys."""
        wanted = self._filters[who]
        if who in self._exact:
            return type(told.event) in wanted.types
        accepted = wanted.accepts(told)
        for window in wanted.windows:
            fresh = window.take_fresh()
            self._scripts.add(fresh, who)
            self._has_grown |= bool(fresh)
        return accepted

    def _keys(self, wanted: EventFilter) -> "list[tuple[Lookup[Who], Iterable[bytes]]]":
        scripts = chain(wanted.scripts, *(each.indexes for each in wanted.windows))
        return [
            (self._txids, wanted.txids),
            (self._scripts, scripts),
            (self._hashes, wanted.script_hashes),
            (self._outpoints, wanted.outpoints),
        ]


def _takes_all(wanted: EventFilter, type_: EventType) -> bool:
    """Whether a filter passes every event of a type about transactions."""
    return not wanted.has_keys and (type_ is TxRemoved or not wanted.min_value_sat)
