"""When a peer is told of transactions, how many at a time and in which order."""

import threading
from collections.abc import Callable

import pytest

from clarion.node.mempool.changes import RemovalReason
from clarion.node.net.messages.inventory import InvMessage
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.relay.announcements import MOST, TARGET, TransactionAnnouncements
from clarion.node.net.relay.state import RelayState
from clarion.node.primitives.transaction import Transaction
from helpers.pool import PoolFixture, make_tx, output
from helpers.wire_peer import WirePeer

NOW = 1_000_000_000_000
FAR_FUTURE = 2 * NOW


@pytest.fixture
def pool() -> PoolFixture:
    return PoolFixture()


@pytest.fixture
def peers() -> PeerManager:
    return PeerManager(lambda: NOW)


@pytest.fixture
def announcements(pool: PoolFixture, peers: PeerManager) -> TransactionAnnouncements:
    return TransactionAnnouncements(pool.pool, peers)


Connect = Callable[..., WirePeer]


@pytest.fixture
def connect(peers: PeerManager, announcements: TransactionAnnouncements) -> Connect:
    def connect(
        permissions: Permission = Permission.NONE, kind: ConnectionType = ConnectionType.INBOUND, port: int = 50000
    ) -> WirePeer:
        wire = WirePeer(peers, kind, f"127.0.0.1:{port}", permissions)
        wire.peer.relays_txs = wire.peer.wtxid_relay = True
        announcements.send(wire.peer, NOW)
        return wire

    return connect


def told(wire: WirePeer) -> list[bytes]:
    return [item.hash for message in wire.sent() if isinstance(message, InvMessage) for item in message.items]


def fill(pool: PoolFixture, announcements: TransactionAnnouncements, count: int) -> list[Transaction]:
    txs = [make_tx() for _ in range(count)]
    for number, tx in enumerate(txs):
        pool.add(tx, 1000 + number)
        announcements.announce(tx.txid, tx.wtxid)
    return txs


def test_a_peer_is_told_in_its_turn(
    pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    stranger, friend = connect(), connect(Permission.NO_BAN)
    (tx,) = fill(pool, announcements, 1)
    for wire in (stranger, friend):
        announcements.send(wire.peer, NOW)
    assert told(stranger) == []
    assert told(friend) == [tx.wtxid]
    assert stranger.peer.state(RelayState).last_inv_sequence < pool.pool.sequence
    announcements.send(stranger.peer, FAR_FUTURE)
    assert told(stranger) == [tx.wtxid]
    assert stranger.peer.state(RelayState).last_inv_sequence == pool.pool.sequence


def test_before_its_first_turn_nothing_is_queued(
    peers: PeerManager, pool: PoolFixture, announcements: TransactionAnnouncements
) -> None:
    wire = WirePeer(peers)
    wire.peer.relays_txs = wire.peer.wtxid_relay = True
    fill(pool, announcements, 1)
    announcements.send(wire.peer, NOW)
    assert told(wire) == []


def test_inbound_peers_are_told_together(announcements: TransactionAnnouncements, connect: Connect) -> None:
    first, second = connect(), connect(port=50001)
    outbound = connect(kind=ConnectionType.OUTBOUND_FULL_RELAY)
    times = [wire.peer.state(RelayState).next_inv_us for wire in (first, second, outbound)]
    assert times[0] == times[1] > NOW
    assert times[2] not in (times[0], 0)


def test_the_best_are_told_first_and_some_at_a_time(
    pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    wire = connect()
    txs = fill(pool, announcements, TARGET + 5)
    announcements.send(wire.peer, FAR_FUTURE)
    assert told(wire) == [tx.wtxid for tx in txs[:4:-1]]
    assert len(wire.peer.state(RelayState).to_send) == 5
    announcements.send(wire.peer, 2 * FAR_FUTURE)
    assert told(wire) == [tx.wtxid for tx in txs[4::-1]]


@pytest.mark.parametrize(("queued", "most"), [(999, 70), (1000, 75), (186_000, MOST), (500_000, MOST)])
def test_a_long_queue_gets_longer_turns(
    queued: int, most: int, pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    wire = connect()
    txs = fill(pool, announcements, 1100)
    state = wire.peer.state(RelayState)
    state.to_send = {tx.wtxid for tx in txs[: min(queued, 1100)]}
    # The rest has left the pool in the meantime, but counts.
    state.to_send |= {number.to_bytes(32, "little") for number in range(queued - len(state.to_send))}  # type: ignore[misc]
    announcements.send(wire.peer, FAR_FUTURE)
    assert len(told(wire)) == most


def test_parents_come_before_their_children(
    pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    wire = connect()
    parent = make_tx()
    child = make_tx(output(parent))
    for tx, fee in ((parent, 100), (child, 100_000)):
        pool.add(tx, fee)
    for tx in (child, parent):
        announcements.announce(tx.txid, tx.wtxid)
    announcements.send(wire.peer, FAR_FUTURE)
    assert told(wire) == [parent.wtxid, child.wtxid]


def test_what_has_left_or_is_known_is_not_told(
    pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    wire = connect()
    gone, known, new = fill(pool, announcements, 3)
    wire.peer.state(RelayState).known.add(known.wtxid)
    pool.pool.remove_recursive(gone, RemovalReason.CONFLICT)
    announcements.send(wire.peer, FAR_FUTURE)
    assert told(wire) == [new.wtxid]
    announcements.announce(new.txid, new.wtxid)
    assert wire.peer.state(RelayState).to_send == set()


def test_nobody_waits_for_the_pool(
    pool: PoolFixture, announcements: TransactionAnnouncements, connect: Connect
) -> None:
    wire = connect(Permission.NO_BAN)
    (tx,) = fill(pool, announcements, 1)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with pool.pool.lock:
            held.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    announcements.send(wire.peer, NOW)
    assert told(wire) == []
    done.set()
    holder.join()
    announcements.send(wire.peer, NOW)
    assert told(wire) == [tx.wtxid]
