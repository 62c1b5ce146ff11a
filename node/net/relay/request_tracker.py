"""Who announced which transaction, and whom to ask for it when.

Owns: the announcements and the choice among them. Never: messages, what is known of a transaction otherwise.
Source: the rules of Bitcoin Core's txrequest.h.

A transaction is asked of one peer at a time, and of the next only when that request has failed. It is never asked of the
same peer twice. Among those who may be asked, preferred peers come first, and among equals a keyed hash decides, which
no peer can foresee. Times are in microseconds.
"""

import heapq
import secrets
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple

PeerId = int

_MIN_COMPACTED = 1_000


class GenTxid(NamedTuple):
    """What names a transaction on the network: its txid, or its wtxid if `by_wtxid`. 32 bytes in internal order."""

    hash: bytes
    by_wtxid: bool

    @property
    def kind(self) -> str:
        """The kind of hash as log lines name it."""
        return "wtx" if self.by_wtxid else "tx"


class State(Enum):
    """How far an announcement has come."""

    DELAYED = auto()
    """It may be asked for only later."""
    READY = auto()
    """It may be asked for, but another one is better or has been asked for."""
    BEST = auto()
    """It is the one to be asked for next."""
    REQUESTED = auto()
    COMPLETED = auto()
    """The request failed. Kept as long as others for the same transaction are not."""


@dataclass(slots=True, eq=False)
class _Announcement:
    gtxid: GenTxid
    peer: PeerId
    preferred: bool
    time_us: int
    """When it may be asked for; of one that is requested, when the request is given up."""
    sequence: int
    priority: tuple[bool, bytes]
    state: State = State.DELAYED


@dataclass(slots=True)
class _PeerRecord:
    announcements: dict[bytes, _Announcement] = field(default_factory=dict)
    best: set[_Announcement] = field(default_factory=set)
    requested: int = 0
    completed: int = 0


class TxRequestTracker:
    """Announcements of all peers."""

    def __init__(self, key: bytes | None = None) -> None:
        """`key` (16 bytes) decides among peers of equal rank; nobody may know it, so it is random unless given."""
        self._key = key or secrets.token_bytes(16)
        self._by_hash: dict[bytes, dict[PeerId, _Announcement]] = {}
        self._by_peer: dict[PeerId, _PeerRecord] = {}
        self._sequence = 0
        self._size = 0
        self._now_us = 0
        self._waiting: list[tuple[int, int, _Announcement]] = []
        """What is delayed or requested, by time. Entries whose announcement has moved on are skipped."""

    # --- looking ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._size

    def count(self, peer: PeerId) -> int:
        """Return how many announcements of a peer are known."""
        record = self._by_peer.get(peer)
        return len(record.announcements) if record else 0

    def count_in_flight(self, peer: PeerId) -> int:
        """Return how many transactions a peer was asked for and has not answered."""
        record = self._by_peer.get(peer)
        return record.requested if record else 0

    def count_candidates(self, peer: PeerId) -> int:
        """Return how many transactions a peer may still be asked for."""
        record = self._by_peer.get(peer)
        return len(record.announcements) - record.requested - record.completed if record else 0

    def candidate_peers(self, tx_hash: bytes) -> list[PeerId]:
        """Return the peers who announced a transaction and have not failed to send it."""
        announcements = self._by_hash.get(tx_hash, {}).values()
        return [each.peer for each in announcements if each.state is not State.COMPLETED]

    # --- what happens -----------------------------------------------------------------------------------------------

    def received_inv(self, peer: PeerId, gtxid: GenTxid, *, preferred: bool, request_time_us: int) -> None:
        """Note an announcement, unless this peer announced the same hash before."""
        record = self._by_peer.setdefault(peer, _PeerRecord())
        if gtxid.hash in record.announcements:
            return
        priority = (preferred, self._lot(gtxid.hash, peer))
        announcement = _Announcement(gtxid, peer, preferred, request_time_us, self._sequence, priority)
        self._sequence += 1
        self._size += 1
        record.announcements[gtxid.hash] = announcement
        self._by_hash.setdefault(gtxid.hash, {})[peer] = announcement
        self._wait(announcement)

    def disconnected_peer(self, peer: PeerId) -> None:
        """Forget a peer."""
        record = self._by_peer.get(peer)
        if record is not None:
            for announcement in list(record.announcements.values()):
                if self._complete(announcement):
                    self._erase(announcement)

    def forget(self, tx_hash: bytes) -> None:
        """Forget a transaction, which is not needed any more."""
        for announcement in list(self._by_hash.get(tx_hash, {}).values()):
            self._erase(announcement)

    def forget_all(self, hashes: Set[bytes]) -> None:
        """Forget many transactions, of which few are known here."""
        for tx_hash in self._by_hash.keys() & hashes:
            self.forget(tx_hash)

    def requestable(self, peer: PeerId, now_us: int) -> tuple[list[GenTxid], list[tuple[PeerId, GenTxid]]]:
        """Return what to ask a peer for now, in the order of its announcements, and all requests that have timed out."""
        expired = self._move_time(now_us)
        record = self._by_peer.get(peer)
        chosen = sorted(record.best, key=lambda each: each.sequence) if record else []
        return [each.gtxid for each in chosen], expired

    def requested(self, peer: PeerId, tx_hash: bytes, expiry_us: int) -> None:
        """Note that a peer was asked for what it announced; nothing happens if it may not be asked for that."""
        announcement = self._by_hash.get(tx_hash, {}).get(peer)
        if announcement is None or announcement.state in (State.REQUESTED, State.COMPLETED):
            return
        selected = self._selected(tx_hash)
        if selected is not None and selected is not announcement:
            self._set_state(selected, State.READY if selected.state is State.BEST else State.COMPLETED)
        announcement.time_us = expiry_us
        self._set_state(announcement, State.REQUESTED)
        self._wait(announcement)

    def received_response(self, peer: PeerId, tx_hash: bytes) -> None:
        """Note that a peer has answered, with the transaction or without."""
        announcement = self._by_hash.get(tx_hash, {}).get(peer)
        if announcement is not None:
            self._complete(announcement)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _lot(self, tx_hash: bytes, peer: PeerId) -> bytes:
        return blake2b(tx_hash + peer.to_bytes(8, "little"), digest_size=8, key=self._key).digest()

    def _wait(self, announcement: _Announcement) -> None:
        heapq.heappush(self._waiting, (announcement.time_us, announcement.sequence, announcement))
        if len(self._waiting) > 2 * self._size + _MIN_COMPACTED:
            self._waiting = [entry for entry in self._waiting if _is_current(entry)]
            heapq.heapify(self._waiting)

    def _move_time(self, now_us: int) -> list[tuple[PeerId, GenTxid]]:
        expired = []
        while self._waiting and self._waiting[0][0] <= now_us:
            entry = heapq.heappop(self._waiting)
            announcement = entry[2]
            if not _is_current(entry):
                continue
            if announcement.state is State.REQUESTED:
                expired.append((announcement.peer, announcement.gtxid))
                self._complete(announcement)
            else:
                self._make_ready(announcement)
        if now_us < self._now_us:
            self._go_back(now_us)
        self._now_us = now_us
        return expired

    def _go_back(self, now_us: int) -> None:
        """Delay again what is not yet due: the clock has been set back."""
        for record in list(self._by_peer.values()):
            for announcement in list(record.announcements.values()):
                if announcement.state in (State.READY, State.BEST) and announcement.time_us > now_us:
                    self._change(announcement, State.DELAYED)
                    self._wait(announcement)

    def _selected(self, tx_hash: bytes) -> _Announcement | None:
        """Return the one that is asked for, or is to be."""
        announcements = self._by_hash.get(tx_hash, {}).values()
        return next((each for each in announcements if each.state in (State.BEST, State.REQUESTED)), None)

    def _make_ready(self, announcement: _Announcement) -> None:
        selected = self._selected(announcement.gtxid.hash)
        if selected is not None and (selected.state is State.REQUESTED or selected.priority >= announcement.priority):
            self._set_state(announcement, State.READY)
            return
        if selected is not None:
            self._set_state(selected, State.READY)
        self._set_state(announcement, State.BEST)

    def _complete(self, announcement: _Announcement) -> bool:
        """Let the next one have its turn; with none left, forget the transaction and return False."""
        if announcement.state is State.COMPLETED:
            return True
        announcements = self._by_hash[announcement.gtxid.hash].values()
        if all(each is announcement or each.state is State.COMPLETED for each in announcements):
            self.forget(announcement.gtxid.hash)
            return False
        self._change(announcement, State.COMPLETED)
        return True

    def _change(self, announcement: _Announcement, state: State) -> None:
        """Change a state, and find another best one if this was the one."""
        was_selected = announcement.state in (State.BEST, State.REQUESTED)
        self._set_state(announcement, state)
        if was_selected:
            self._select(self._by_hash[announcement.gtxid.hash].values())

    def _select(self, announcements: Iterable[_Announcement]) -> None:
        ready = [each for each in announcements if each.state is State.READY]
        if ready:
            self._set_state(max(ready, key=lambda each: each.priority), State.BEST)

    def _set_state(self, announcement: _Announcement, state: State) -> None:
        record = self._by_peer[announcement.peer]
        record.best.discard(announcement)
        record.requested += (state is State.REQUESTED) - (announcement.state is State.REQUESTED)
        record.completed += (state is State.COMPLETED) - (announcement.state is State.COMPLETED)
        announcement.state = state
        if state is State.BEST:
            record.best.add(announcement)

    def _erase(self, announcement: _Announcement) -> None:
        # Completed, so that what waits for its time does not mistake it for one that is there.
        self._set_state(announcement, State.COMPLETED)
        tx_hash, peer = announcement.gtxid.hash, announcement.peer
        record = self._by_peer[peer]
        del record.announcements[tx_hash]
        record.completed -= 1
        if not record.announcements:
            del self._by_peer[peer]
        others = self._by_hash[tx_hash]
        del others[peer]
        if not others:
            del self._by_hash[tx_hash]
        self._size -= 1


def _is_current(entry: tuple[int, int, _Announcement]) -> bool:
    """Whether an announcement still waits for the time that it was put down for."""
    announcement = entry[2]
    return announcement.state in (State.DELAYED, State.REQUESTED) and announcement.time_us == entry[0]
