"""All filters of a process as one index: who wants an event, without asking everybody.

Owns: the look-up by type, script, outpoint, txid and prefix. Never: what a filter means (`filters`).
A look-up costs as much as the event has outputs and inputs, however many filters and keys there are. What can't be
looked up, a smallest value without any key, is tried one by one.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from clarion.node.events.events import Event, TxAdded, TxConfirmed, TxRemoved, TxUnconfirmed
from clarion.node.events.mempool_rows import BLOCK_REASON
from clarion.node.primitives.transaction import Transaction
from clarion.notifiers.stream.filters import EventFilter, EventType, StreamEvent

Who = TypeVar("Who", bound=Hashable)

_FILTERED = frozenset((TxAdded, TxConfirmed, TxUnconfirmed, TxRemoved))
"""Types of event about which a filter may say more than that it wants them."""


class _Several(set[Who]):
    """Those who wait for the same key."""


class Lookup(Generic[Who]):
    """Who waits for a key.

    A key that one alone waits for, as nearly all of a million are, costs no object beside its entry: a million of
    them would keep the cyclic collector busy.
    """

    def __init__(self) -> None:
        self.keys: dict[bytes, Who | _Several[Who]] = {}

    def add(self, keys: Iterable[bytes], who: Who) -> None:
        """Have `who` wait for keys."""
        for key in keys:
            waiting = self.keys.setdefault(key, who)
            if isinstance(waiting, _Several):
                waiting.add(who)
            elif waiting != who:
                self.keys[key] = _Several((waiting, who))

    def remove(self, keys: Iterable[bytes], who: Who) -> None:
        """Have `who` wait for keys no more."""
        for key in keys:
            waiting = self.keys.get(key)
            if isinstance(waiting, _Several):
                waiting.discard(who)
                if not waiting:
                    del self.keys[key]
            elif waiting == who:
                del self.keys[key]

    def find(self, keys: Iterable[bytes]) -> Iterator[Who]:
        """Yield who waits for one of the keys."""
        for key in keys:
            if key in self.keys:
                waiting = self.keys[key]
                if isinstance(waiting, _Several):
                    yield from waiting
                else:
                    yield waiting


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

    def remove(self, prefixes: Iterable[bytes], who: Who) -> None:
        for prefix in prefixes:
            self._lengths[len(prefix)] -= 1
            if not self._lengths[len(prefix)]:
                del self._lengths[len(prefix)]
            self._lookup.remove((prefix,), who)

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
        self._txids, self._scripts = Lookup[Who](), Lookup[Who]()
        self._hashes, self._outpoints = Lookup[Who](), Lookup[Who]()
        self._prefixes = _Prefixes[Who]()

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, who: Who, wanted: EventFilter) -> None:
        """Add a subscriber; one that is there gets the new filter."""
        self.remove(who)
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

    def remove(self, who: Who) -> None:
        """Forget a subscriber; one that is not there is fine."""
        wanted = self._filters.pop(who, None)
        if wanted is None:
            return
        for by_type in (self._by_type, self._unasked, self._by_value):
            for type_ in wanted.types & by_type.keys():
                by_type[type_].discard(who)
        for lookup, keys in self._keys(wanted):
            lookup.remove(keys, who)
        if wanted.op_returns:
            self._prefixes.remove(frozenset(wanted.op_returns), who)
        self._removed.discard(who)
        self._spent.discard(who)

    def find(self, told: StreamEvent) -> list[Who]:
        """Return who wants the event."""
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
            if by_value := self._by_value.get(type_):
                candidates |= by_value
        if candidates:
            found += [who for who in candidates if self._accepts(who, told)]
        return found

    def types(self) -> frozenset[type[Event]]:
        """Return every type of event that somebody wants."""
        return frozenset(type_ for type_, waiting in self._by_type.items() if waiting)

    def needs_spent(self) -> bool:
        """Whether somebody needs to know what transactions of blocks spend."""
        return bool(self._spent)

    def _interested(self, told: StreamEvent, tx: Transaction) -> set[Who]:
        """Return who has a key that fits. Most transactions interest nobody: for them this is all that is done."""
        interested: set[Who] = set()
        if tx.txid in self._txids.keys:
            interested.update(self._txids.find((tx.txid,)))
        if keys := self._scripts.keys:
            scripts = [output.script_pubkey for output in tx.outputs if output.script_pubkey in keys]
            if told.spent:
                scripts += [output.script_pubkey for output in told.spent if output.script_pubkey in keys]
            if scripts:
                interested.update(self._scripts.find(scripts))
        if keys := self._outpoints.keys:
            interested.update(self._outpoints.find([each.prevout for each in tx.inputs if each.prevout in keys]))
        if self._hashes.keys:
            interested.update(self._hashes.find(told.script_hashes))
        if self._prefixes:
            interested.update(*map(self._prefixes.find, told.op_returns))
        return interested

    def _accepts(self, who: Who, told: StreamEvent) -> bool:
        wanted = self._filters[who]
        accepted = wanted.accepts(told)
        for window in wanted.windows:
            self._scripts.add(window.take_fresh(), who)
        return accepted

    def _keys(self, wanted: EventFilter) -> "list[tuple[Lookup[Who], Iterable[bytes]]]":
        windows: list[tuple[Lookup[Who], Iterable[bytes]]] = [(self._scripts, each.indexes) for each in wanted.windows]
        return [
            (self._txids, wanted.txids),
            (self._scripts, wanted.scripts),
            (self._hashes, wanted.script_hashes),
            (self._outpoints, wanted.outpoints),
            *windows,
        ]


def _takes_all(wanted: EventFilter, type_: EventType) -> bool:
    """Whether a filter passes every event of a type about transactions."""
    return not wanted.has_keys and (type_ is TxRemoved or not wanted.min_value_sat)
