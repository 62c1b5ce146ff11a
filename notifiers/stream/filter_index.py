"""All filters of a process as one index: who wants an event, without asking everybody.

Owns: the look-up by type, script, outpoint, txid. Never: what a filter means (`filters`).
A look-up costs as much as the event has outputs and inputs, however many filters there are; only filters by prefix of
OP_RETURN are tried one by one, on transactions that have such an output.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from clarion.node.events.events import Event, TxRemoved
from clarion.notifiers.stream.filters import EventFilter, StreamEvent

Who = TypeVar("Who", bound=Hashable)


class _Lookup(Generic[Who]):
    """Who waits for a key."""

    def __init__(self) -> None:
        self._who: dict[bytes, set[Who]] = {}

    def __bool__(self) -> bool:
        return bool(self._who)

    def add(self, keys: Iterable[bytes], who: Who) -> None:
        for key in keys:
            self._who.setdefault(key, set()).add(who)

    def remove(self, keys: Iterable[bytes], who: Who) -> None:
        for key in keys:
            waiting = self._who.get(key)
            if waiting is not None:
                waiting.discard(who)
                if not waiting:
                    del self._who[key]

    def find(self, keys: Iterable[bytes]) -> Iterable[Who]:
        for key in keys:
            yield from self._who.get(key, ())


class FilterIndex(Generic[Who]):
    """Subscribers by what they want. Not thread-safe."""

    def __init__(self) -> None:
        self._filters: dict[Who, EventFilter] = {}
        self._by_type: dict[type[Event], set[Who]] = {}
        self._keyless: set[Who] = set()
        self._removed: set[Who] = set()
        self._prefixes: set[Who] = set()
        self._txids, self._scripts = _Lookup[Who](), _Lookup[Who]()
        self._hashes, self._outpoints = _Lookup[Who](), _Lookup[Who]()

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, who: Who, wanted: EventFilter) -> None:
        """Add a subscriber; one that is there gets the new filter."""
        self.remove(who)
        self._filters[who] = wanted
        for type_ in wanted.types:
            self._by_type.setdefault(type_, set()).add(who)
        if not wanted.has_keys:
            self._keyless.add(who)
        for lookup, keys in self._keys(wanted):
            lookup.add(keys, who)
        if wanted.op_returns:
            self._prefixes.add(who)
        if wanted.has_content_keys:
            self._removed.add(who)

    def remove(self, who: Who) -> None:
        """Forget a subscriber; one that is not there is fine."""
        wanted = self._filters.pop(who, None)
        if wanted is None:
            return
        for waiting in self._by_type.values():
            waiting.discard(who)
        self._keyless.discard(who)
        for lookup, keys in self._keys(wanted):
            lookup.remove(keys, who)
        self._prefixes.discard(who)
        self._removed.discard(who)

    def find(self, told: StreamEvent) -> list[Who]:
        """Return who wants the event."""
        tx = told.tx
        if tx is None and not isinstance(told.event, TxRemoved):
            return list(self._by_type.get(type(told.event), ()))
        candidates = set(self._keyless)
        if isinstance(told.event, TxRemoved):
            candidates.update(self._txids.find((told.event.txid,)), self._removed)
        elif tx is not None:
            candidates.update(self._txids.find((tx.txid,)))
            if self._outpoints:
                candidates.update(self._outpoints.find(told.outpoints))
            if self._scripts:
                candidates.update(self._scripts.find(told.scripts))
            if self._hashes:
                candidates.update(self._hashes.find(told.script_hashes))
            if self._prefixes and told.op_returns:
                candidates |= self._prefixes
        return [who for who in candidates if self._filters[who].accepts(told)]

    def types(self) -> frozenset[type[Event]]:
        """Return every type of event that somebody wants."""
        return frozenset(type_ for type_, waiting in self._by_type.items() if waiting)

    def needs_spent(self) -> bool:
        """Whether somebody needs to know what transactions of blocks spend."""
        return any(each.needs_spent for each in self._filters.values())

    def _keys(self, wanted: EventFilter) -> "list[tuple[_Lookup[Who], Iterable[bytes]]]":
        return [
            (self._txids, wanted.txids),
            (self._scripts, wanted.scripts),
            (self._hashes, wanted.script_hashes),
            (self._outpoints, wanted.outpoints),
        ]
