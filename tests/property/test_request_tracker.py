"""The tracker of announcements against its rules, written down without any index (as in the reference's fuzz test)."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clarion.node.net.relay.request_tracker import GenTxid, TxRequestTracker

HASHES = [bytes((number,)) * 32 for number in range(3)]
PEERS = range(4)


@dataclass
class Announcement:
    """One announcement. `time` is when it may be asked for, or when the request ends."""

    peer: int
    gtxid: GenTxid
    preferred: bool
    time: int
    number: int
    state: str = "candidate"


@dataclass
class Model:
    """All announcements in a list."""

    announcements: list[Announcement] = field(default_factory=list)
    count: int = 0

    def find(self, peer: int, tx_hash: bytes) -> Announcement | None:
        return next((a for a in self.announcements if (a.peer, a.gtxid.hash) == (peer, tx_hash)), None)

    def of(self, tx_hash: bytes) -> list[Announcement]:
        return [a for a in self.announcements if a.gtxid.hash == tx_hash]

    def drop(self, gone: list[Announcement]) -> None:
        self.announcements = [a for a in self.announcements if a not in gone]

    def clean(self) -> None:
        """Forget transactions that nobody is left for."""
        for tx_hash in HASHES:
            if all(a.state == "completed" for a in self.of(tx_hash)):
                self.drop(self.of(tx_hash))


class Tracking(RuleBasedStateMachine):
    """Does the same to both."""

    def __init__(self) -> None:
        super().__init__()
        # What is chosen by chance would make the same steps lead elsewhere when they are repeated.
        self.tracker = TxRequestTracker(key=b"0123456789abcdef")
        self.model = Model()
        self.now = 1000
        self.chosen: dict[tuple[bytes, frozenset[tuple[int, bool]]], int] = {}

    @rule(
        preferences=st.dictionaries(st.sampled_from(PEERS), st.booleans(), min_size=1),
        tx_hash=st.sampled_from(HASHES),
        by_wtxid=st.booleans(),
        delay=st.integers(-5, 20),
    )
    def announce(self, preferences: dict[int, bool], tx_hash: bytes, by_wtxid: bool, delay: int) -> None:
        gtxid = GenTxid(tx_hash, by_wtxid)
        for peer, preferred in preferences.items():
            self.tracker.received_inv(peer, gtxid, preferred=preferred, request_time_us=self.now + delay)
            if self.model.find(peer, tx_hash) is None:
                self.model.announcements.append(
                    Announcement(peer, gtxid, preferred, self.now + delay, self.model.count)
                )
                self.model.count += 1

    @rule(peer=st.sampled_from(PEERS))
    def disconnect(self, peer: int) -> None:
        self.tracker.disconnected_peer(peer)
        self.model.drop([a for a in self.model.announcements if a.peer == peer])
        self.model.clean()

    @rule(tx_hash=st.sampled_from(HASHES))
    def forget(self, tx_hash: bytes) -> None:
        self.tracker.forget(tx_hash)
        self.model.drop(self.model.of(tx_hash))

    @rule(peer=st.sampled_from(PEERS), tx_hash=st.sampled_from(HASHES))
    def respond(self, peer: int, tx_hash: bytes) -> None:
        self.tracker.received_response(peer, tx_hash)
        found = self.model.find(peer, tx_hash)
        if found is not None:
            found.state = "completed"
            self.model.clean()

    @rule(peers=st.permutations(PEERS), ask=st.booleans(), patience=st.integers(1, 30), step=st.integers(-10, 40))
    def request(self, peers: list[int], ask: bool, patience: int, step: int) -> None:
        """Let time pass and see what each peer is asked for, and whether all is that can be."""
        self.now += step
        for peer in peers:
            self.request_from(peer, ask, patience)
        if ask:
            for tx_hash in HASHES:
                announcements = self.model.of(tx_hash)
                ready = any(a.state == "candidate" and a.time <= self.now for a in announcements)
                assert not ready or any(a.state == "requested" for a in announcements)

    def request_from(self, peer: int, ask: bool, patience: int) -> None:
        wanted, expired = self.tracker.requestable(peer, self.now)
        late = [a for a in self.model.announcements if a.state == "requested" and a.time <= self.now]
        assert sorted(expired) == sorted((a.peer, a.gtxid) for a in late)
        for announcement in late:
            announcement.state = "completed"
        self.model.clean()
        mine = [a for gtxid in wanted if (a := self.model.find(peer, gtxid.hash)) is not None]
        assert [a.gtxid for a in mine] == wanted
        assert [a.number for a in mine] == sorted(a.number for a in mine)
        for tx_hash in HASHES:
            self.check_choice(peer, tx_hash, tx_hash in [gtxid.hash for gtxid in wanted])
        for announcement in mine if ask else ():
            self.tracker.requested(peer, announcement.gtxid.hash, self.now + patience)
            announcement.state, announcement.time = "requested", self.now + patience

    def check_choice(self, peer: int, tx_hash: bytes, is_wanted: bool) -> None:
        """Only a good candidate may be chosen, always the same one of the same candidates, and one of them must be."""
        announcements = self.model.of(tx_hash)
        ready = [a for a in announcements if a.state == "candidate" and a.time <= self.now]
        if any(a.state == "requested" for a in announcements) or not ready:
            assert not is_wanted
            return
        best = [a for a in ready if a.preferred] or ready
        if is_wanted:
            assert peer in [a.peer for a in best]
        key = (tx_hash, frozenset((a.peer, a.preferred) for a in ready))
        if is_wanted:
            assert self.chosen.setdefault(key, peer) == peer
        elif len(best) == 1:
            assert peer != best[0].peer

    @rule(peer=st.sampled_from(PEERS), tx_hash=st.sampled_from(HASHES), patience=st.integers(1, 30))
    def request_unasked(self, peer: int, tx_hash: bytes, patience: int) -> None:
        """Ask a peer that would not have been chosen."""
        self.tracker.requested(peer, tx_hash, self.now + patience)
        found = self.model.find(peer, tx_hash)
        if found is None or found.state != "candidate":
            return
        for other in self.model.of(tx_hash):
            if other.state == "requested":
                other.state = "completed"
        found.state, found.time = "requested", self.now + patience

    @precondition(lambda self: self.model.announcements)
    @rule(tx_hash=st.sampled_from(HASHES))
    def look(self, tx_hash: bytes) -> None:
        candidates = [a.peer for a in self.model.of(tx_hash) if a.state != "completed"]
        assert sorted(self.tracker.candidate_peers(tx_hash)) == sorted(candidates)

    @invariant()
    def counts_agree(self) -> None:
        announcements = self.model.announcements
        assert len(self.tracker) == len(announcements)
        for peer in PEERS:
            states = [a.state for a in announcements if a.peer == peer]
            assert self.tracker.count(peer) == len(states)
            assert self.tracker.count_in_flight(peer) == states.count("requested")
            assert self.tracker.count_candidates(peer) == states.count("candidate")


Tracking.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestTracking = Tracking.TestCase
