"""What is asked for and when, and what is remembered of rejected transactions."""

from collections.abc import Sequence

import pytest

from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.net.clock import SECOND_US
from clarion.node.net.relay.download import (
    MAX_ANNOUNCEMENTS,
    MAX_REQUESTS_IN_FLIGHT,
    REQUEST_TIMEOUT_US,
    AfterRejection,
    DownloadPeer,
    TransactionDownload,
)
from clarion.node.net.relay.request_tracker import GenTxid
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.transaction import Transaction
from helpers.pool import PoolFixture
from helpers.simple_txs import coin_of, output_of, simple_tx

NOW = 1_000_000_000_000
FAR, NEAR, OLD, FRIEND = range(4)
PEERS = {
    FAR: DownloadPeer(preferred=False, may_relay=False, wtxid_relay=True),
    NEAR: DownloadPeer(preferred=True, may_relay=False, wtxid_relay=True),
    OLD: DownloadPeer(preferred=True, may_relay=False, wtxid_relay=False),
    FRIEND: DownloadPeer(preferred=True, may_relay=True, wtxid_relay=True),
}
WITNESS = (b"\x01",)


@pytest.fixture
def pool() -> PoolFixture:
    return PoolFixture()


@pytest.fixture
def download(pool: PoolFixture) -> TransactionDownload:
    download = TransactionDownload(pool.pool)
    for peer, info in PEERS.items():
        download.connected(peer, info)
    return download


def wtxid(number: int) -> GenTxid:
    return GenTxid(number.to_bytes(32, "big"), True)


def reject(
    download: TransactionDownload, tx: Transaction, why: TxRejection, peer: int = NEAR, *, first_time: bool = True
) -> AfterRejection:
    return download.rejected(tx, why, peer, NOW, first_time=first_time)


def asked(download: TransactionDownload, peer: int, seconds: float = 0) -> list[GenTxid]:
    return download.to_request(peer, NOW + round(seconds * SECOND_US))


@pytest.mark.parametrize(
    ("peer", "by_wtxid", "seconds"), [(NEAR, True, 0), (FAR, True, 2), (OLD, False, 2), (FAR, False, 4)]
)
def test_who_is_asked_when(download: TransactionDownload, peer: int, by_wtxid: bool, seconds: int) -> None:
    gtxid = GenTxid(bytes(32), by_wtxid)
    assert download.announced(peer, gtxid, NOW) is False
    assert asked(download, peer, seconds - 0.001) == []
    assert asked(download, peer, seconds) == [gtxid]


def test_without_wtxid_peers_a_txid_is_as_good(download: TransactionDownload) -> None:
    for peer in (FAR, NEAR, FRIEND):
        download.disconnected(peer)
    gtxid = GenTxid(bytes(32), False)
    download.announced(OLD, gtxid, NOW)
    assert asked(download, OLD) == [gtxid]


def test_a_peer_that_owes_much_is_asked_later(download: TransactionDownload) -> None:
    for number in range(MAX_REQUESTS_IN_FLIGHT):
        for peer in (NEAR, FRIEND):
            download.announced(peer, wtxid(1000 * peer + number), NOW)
    assert len(asked(download, NEAR)) == len(asked(download, FRIEND)) == MAX_REQUESTS_IN_FLIGHT
    download.announced(NEAR, wtxid(1), NOW)
    download.announced(FRIEND, wtxid(2), NOW)
    assert asked(download, NEAR) == []
    assert asked(download, FRIEND) == [wtxid(2)]
    assert asked(download, NEAR, 2) == [wtxid(1)]


@pytest.mark.parametrize(("peer", "more"), [(NEAR, 0), (FRIEND, 1)])
def test_too_many_announcements_are_ignored(download: TransactionDownload, peer: int, more: int) -> None:
    for number in range(MAX_ANNOUNCEMENTS + 1):
        download.announced(peer, wtxid(number), NOW)
    assert download.requests.count(peer) == MAX_ANNOUNCEMENTS + more


def test_the_next_peer_is_asked_when_one_fails(download: TransactionDownload) -> None:
    for peer in (NEAR, FRIEND):
        download.announced(peer, wtxid(1), NOW)
    first, second = (NEAR, FRIEND) if asked(download, NEAR) else (FRIEND, NEAR)
    assert bool(asked(download, FRIEND)) is (first == FRIEND)
    assert asked(download, second, 59) == []
    assert asked(download, second, REQUEST_TIMEOUT_US / SECOND_US) == [wtxid(1)]
    download.not_found(second, [wtxid(1).hash])
    assert len(download.requests) == 0


def test_what_is_in_the_pool_is_not_asked_for(pool: PoolFixture, download: TransactionDownload) -> None:
    tx = simple_tx([coin_of(1)], witness=WITNESS)
    download.announced(NEAR, GenTxid(tx.wtxid, True), NOW)
    pool.add(tx)
    assert asked(download, NEAR) == []
    assert len(download.requests) == 0
    for gtxid in (GenTxid(tx.wtxid, True), GenTxid(tx.txid, False)):
        assert download.announced(NEAR, gtxid, NOW)
    assert not download.announced(NEAR, GenTxid(tx.txid, True), NOW)


@pytest.mark.parametrize(
    ("why", "wtxid_known", "txid_known"),
    [
        (TxRejection.TX_CONSENSUS, True, False),
        (TxRejection.TX_RECONSIDERABLE, True, False),
        (TxRejection.TX_INPUTS_NOT_STANDARD, True, True),
        (TxRejection.TX_WITNESS_STRIPPED, False, False),
        (TxRejection.TX_UNKNOWN, True, False),
    ],
)
def test_what_a_rejection_says_about_the_hashes(
    download: TransactionDownload, why: TxRejection, wtxid_known: bool, txid_known: bool
) -> None:
    tx = simple_tx([coin_of(1)], witness=WITNESS)
    after = reject(download, tx, why)
    assert after.keep_for_compact_blocks is (why is not TxRejection.TX_WITNESS_STRIPPED)
    assert download.announced(NEAR, GenTxid(tx.wtxid, True), NOW) is wtxid_known
    assert download.announced(NEAR, GenTxid(tx.txid, False), NOW) is txid_known
    download.tip_changed()
    assert download.announced(FRIEND, GenTxid(tx.wtxid, True), NOW) is False


def family(parents: int = 1) -> tuple[Sequence[Transaction], Transaction]:
    made = [simple_tx([coin_of(number)], witness=WITNESS) for number in range(parents)]
    return made, simple_tx([output_of(tx) for tx in made], witness=WITNESS)


def test_an_orphans_parents_are_asked_of_all_who_announced_it(download: TransactionDownload) -> None:
    (parent,), child = family()
    for peer in (NEAR, FRIEND):
        download.announced(peer, GenTxid(child.wtxid, True), NOW)
    after = reject(download, child, TxRejection.TX_MISSING_INPUTS)
    assert after.unknown_parents == [parent.txid]
    assert download.orphans.orphans() == [(child, [NEAR, FRIEND])]
    # Announced again, by somebody else: another candidate.
    assert download.announced(FAR, GenTxid(child.wtxid, True), NOW)
    assert download.orphans.orphans() == [(child, [FAR, NEAR, FRIEND])]
    wanted = [gtxid for peer in (NEAR, FRIEND, FAR) for gtxid in asked(download, peer, 4)]
    assert wanted == [GenTxid(parent.txid, False)]


@pytest.mark.parametrize(
    ("why", "parents", "kept"),
    [
        (TxRejection.TX_INPUTS_NOT_STANDARD, 1, False),
        (TxRejection.TX_RECONSIDERABLE, 1, True),
        (TxRejection.TX_RECONSIDERABLE, 2, False),
    ],
)
def test_orphans_of_rejected_parents(download: TransactionDownload, why: TxRejection, parents: int, kept: bool) -> None:
    made = [simple_tx([coin_of(number)]) for number in range(parents)]
    child = simple_tx([output_of(tx) for tx in made])
    for parent in made:
        reject(download, parent, why)
    after = reject(download, child, TxRejection.TX_MISSING_INPUTS)
    assert download.orphans.have(child.wtxid) is kept
    assert len(after.unknown_parents) == kept
    assert download.received(NEAR, child) == (False, None)


def test_a_package_is_tried_once(download: TransactionDownload) -> None:
    (parent,), child = family()
    reject(download, child, TxRejection.TX_MISSING_INPUTS)
    package = reject(download, parent, TxRejection.TX_RECONSIDERABLE).package
    assert package is not None
    assert package.txs == (parent, child)
    assert download.received(NEAR, parent) == (False, package)
    assert download.received(FRIEND, parent) == (False, None)
    download.package_rejected(package)
    assert download.received(NEAR, parent) == (False, None)


def test_an_accepted_parent_has_its_orphans_looked_at(download: TransactionDownload) -> None:
    (parent,), child = family()
    reject(download, child, TxRejection.TX_MISSING_INPUTS)
    assert download.accepted(parent)
    assert download.orphans.take_work(NEAR) is child
    reject(download, child, TxRejection.TX_MEMPOOL_POLICY, first_time=False)
    assert len(download.orphans) == 0
    assert len(download.requests) == 0


def test_a_peer_that_leaves_leaves_nothing(download: TransactionDownload) -> None:
    _, child = family()
    reject(download, child, TxRejection.TX_MISSING_INPUTS)
    download.announced(NEAR, wtxid(1), NOW)
    download.disconnected(NEAR)
    assert len(download.orphans) == len(download.requests) == 0
    reject(download, child, TxRejection.TX_MISSING_INPUTS)
    assert len(download.orphans) == 0


def test_what_a_block_confirms_is_not_asked_for_until_it_leaves_the_chain(download: TransactionDownload) -> None:
    tx = simple_tx([coin_of(1)], witness=WITNESS)
    names = [GenTxid(tx.wtxid, True), GenTxid(tx.txid, False)]
    download.announced(NEAR, names[0], NOW)
    download.announced(OLD, names[1], NOW)
    download.announced(NEAR, wtxid(7), NOW)
    download.block_connected(Block(BlockHeader(1, bytes(32), bytes(32), 0, 0, 0), [tx]))
    assert asked(download, NEAR, 10) == [wtxid(7)]
    assert asked(download, OLD, 10) == []
    assert all(download.already_have(name, include_reconsiderable=False) for name in names)
    download.block_disconnected()
    assert not any(download.already_have(name, include_reconsiderable=False) for name in names)
