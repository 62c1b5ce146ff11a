"""Which transactions are asked for, and what is remembered of those that came.

Owns: the requests, the orphans, and what was rejected or confirmed lately. Never: messages, judging.
Source: Bitcoin Core's node/txdownloadman_impl.cpp. Belongs to the network thread.
"""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass

from clarion.node.mempool.accept.rejection import TxRejection
from clarion.node.mempool.orphanage import TxOrphanage
from clarion.node.mempool.policy.packages import package_hash
from clarion.node.mempool.pool import Mempool
from clarion.node.net.clock import SECOND_US
from clarion.node.net.relay.recent_hashes import RecentHashes
from clarion.node.net.relay.request_tracker import GenTxid, PeerId, TxRequestTracker
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import Txid, Wtxid, hash_to_hex, outpoint_txid
from clarion.node.primitives.transaction import Transaction

MAX_REQUESTS_IN_FLIGHT = 100
"""A peer with so many open requests has to wait with the next ones."""
MAX_ANNOUNCEMENTS = 5000
"""More announcements of a peer are ignored."""
TXID_DELAY_US = 2 * SECOND_US
"""What only a txid names waits while there are peers that announce wtxids."""
NOT_PREFERRED_DELAY_US = 2 * SECOND_US
OVERLOADED_DELAY_US = 2 * SECOND_US
REQUEST_TIMEOUT_US = 60 * SECOND_US
_RANDOM = random.SystemRandom()

logger = logging.getLogger("clarion.net")
package_logger = logging.getLogger("clarion.txpackages")


@dataclass(frozen=True, slots=True)
class DownloadPeer:
    """What matters of a peer that transactions come from."""

    preferred: bool
    may_relay: bool
    """It has the `relay` permission: limits do not apply."""
    wtxid_relay: bool


@dataclass(frozen=True, slots=True)
class PackageToTry:
    """A parent that fails alone and a child that may pay for it, both from one peer."""

    parent: Transaction
    child: Transaction
    peer: PeerId

    @property
    def txs(self) -> tuple[Transaction, Transaction]:
        """Parent and child."""
        return self.parent, self.child

    def __str__(self) -> str:
        parent, child = (
            f"{hash_to_hex(tx.txid)} (wtxid={hash_to_hex(tx.wtxid)}, sender={self.peer})" for tx in self.txs
        )
        return f"parent {parent} + child {child}"


@dataclass(frozen=True, slots=True)
class AfterRejection:
    """What is to be done about a rejected transaction."""

    keep_for_compact_blocks: bool
    unknown_parents: Sequence[Txid] = ()
    """Parents that the sender must have."""
    package: PackageToTry | None = None


class TransactionDownload:
    """Decides about every hash and every transaction that peers send."""

    def __init__(self, pool: Mempool) -> None:
        """The pool is only asked whether it holds a transaction, which needs no lock."""
        self._pool = pool
        self._peers: dict[PeerId, DownloadPeer] = {}
        self._wtxid_peers = 0
        self.orphans = TxOrphanage()
        self.requests = TxRequestTracker()
        self._rejected = RecentHashes(120_000)
        self._reconsiderable = RecentHashes(120_000)
        """Transactions that fail alone but may pass in a package, and packages that failed."""
        self._confirmed = RecentHashes(48_000)

    # --- peers and blocks -------------------------------------------------------------------------------------------

    def connected(self, peer: PeerId, info: DownloadPeer) -> None:
        """Take a peer in."""
        self._peers[peer] = info
        self._wtxid_peers += info.wtxid_relay

    def disconnected(self, peer: PeerId) -> None:
        """Forget a peer with its orphans and announcements."""
        self.orphans.erase_for_peer(peer)
        self.requests.disconnected_peer(peer)
        info = self._peers.pop(peer, None)
        if info is not None:
            self._wtxid_peers -= info.wtxid_relay

    def tip_changed(self) -> None:
        """Forget what was rejected: it may be valid on the new tip."""
        self._rejected.clear()
        self._reconsiderable.clear()

    def block_connected(self, block: Block) -> None:
        """Note what a block confirms."""
        self.orphans.erase_for_block(block)
        hashes = {tx.txid for tx in block.txs} | {tx.wtxid for tx in block.txs}
        self._confirmed.update(hashes)
        self.requests.forget_all(hashes)

    def block_disconnected(self) -> None:
        """Forget what was confirmed: it may have to be relayed again."""
        self._confirmed.clear()

    # --- announcements and requests ---------------------------------------------------------------------------------

    def already_have(self, gtxid: GenTxid, *, include_reconsiderable: bool) -> bool:
        """Whether a transaction is here, was here, or is not wanted."""
        tx_hash = gtxid.hash
        # An orphan's txid says nothing: another witness may be the right one. A txid that is a wtxid too does.
        if self.orphans.have(Wtxid(tx_hash)):
            return True
        if include_reconsiderable and tx_hash in self._reconsiderable:
            return True
        if tx_hash in self._confirmed or tx_hash in self._rejected:
            return True
        if gtxid.by_wtxid:
            return self._pool.get_by_wtxid(Wtxid(tx_hash)) is not None
        return Txid(tx_hash) in self._pool

    def announced(self, peer: PeerId, gtxid: GenTxid, now_us: int) -> bool:
        """Take an announcement into account; whether the transaction was known."""
        orphan = self.orphans.get(Wtxid(gtxid.hash)) if gtxid.by_wtxid else None
        if orphan is not None:
            parents = self._missing(_parents_of(orphan))
            # Without missing parents it is about to be looked at again.
            if parents and self._may_resolve(peer, orphan.wtxid, parents, now_us):
                self.orphans.add_announcer(orphan.wtxid, peer)
            return True
        if self.already_have(gtxid, include_reconsiderable=True):
            return True
        info = self._peers.get(peer)
        if info is None or (not info.may_relay and self.requests.count(peer) >= MAX_ANNOUNCEMENTS):
            return False
        delay_us = self._delay_us(peer, info, by_txid=not gtxid.by_wtxid)
        self.requests.received_inv(peer, gtxid, preferred=info.preferred, request_time_us=now_us + delay_us)
        return False

    def _delay_us(self, peer: PeerId, info: DownloadPeer, *, by_txid: bool) -> int:
        delay_us = 0 if info.preferred else NOT_PREFERRED_DELAY_US
        if by_txid and self._wtxid_peers:
            delay_us += TXID_DELAY_US
        if not info.may_relay and self.requests.count_in_flight(peer) >= MAX_REQUESTS_IN_FLIGHT:
            delay_us += OVERLOADED_DELAY_US
        return delay_us

    def _may_resolve(self, peer: PeerId, wtxid: Wtxid, parents: Sequence[Txid], now_us: int) -> bool:
        """Put a peer down for an orphan's parents, as if it had announced them; whether it may be."""
        info = self._peers.get(peer)
        if info is None or self.orphans.have_from(wtxid, peer):
            return False
        if not info.may_relay and self.requests.count(peer) + len(parents) > MAX_ANNOUNCEMENTS:
            return False
        # Parent and child are often announced together: with patience the parent comes without being asked for.
        delay_us = self._delay_us(peer, info, by_txid=True)
        for parent in parents:
            self.requests.received_inv(
                peer, GenTxid(parent, False), preferred=info.preferred, request_time_us=now_us + delay_us
            )
        package_logger.debug("added peer=%d as a candidate for resolving orphan %s", peer, hash_to_hex(wtxid))
        return True

    def _missing(self, parents: Sequence[Txid]) -> list[Txid]:
        return [txid for txid in parents if not self.already_have(GenTxid(txid, False), include_reconsiderable=False)]

    def to_request(self, peer: PeerId, now_us: int) -> list[GenTxid]:
        """Return what to ask a peer for now; it counts as asked for."""
        requestable, expired = self.requests.requestable(peer, now_us)
        for slow, gtxid in expired:
            logger.debug("timeout of inflight %s %s from peer=%d", gtxid.kind, hash_to_hex(gtxid.hash), slow)
        wanted = []
        for gtxid in requestable:
            if self.already_have(gtxid, include_reconsiderable=False):
                self.requests.forget(gtxid.hash)
                continue
            logger.debug("Requesting %s %s peer=%d", gtxid.kind, hash_to_hex(gtxid.hash), peer)
            wanted.append(gtxid)
            self.requests.requested(peer, gtxid.hash, now_us + REQUEST_TIMEOUT_US)
        return wanted

    def not_found(self, peer: PeerId, hashes: Sequence[bytes]) -> None:
        """Note that a peer does not have what it was asked for."""
        for tx_hash in hashes:
            self.requests.received_response(peer, tx_hash)

    # --- transactions -----------------------------------------------------------------------------------------------

    def received(self, peer: PeerId, tx: Transaction) -> tuple[bool, PackageToTry | None]:
        """Note that a transaction came; return whether to judge it, and else a package to judge instead."""
        self.requests.received_response(peer, tx.txid)
        if tx.has_witness:
            self.requests.received_response(peer, tx.wtxid)
        # Nobody is blamed for what is known: others may have sent it first, and policies differ.
        if self.already_have(GenTxid(tx.wtxid, True), include_reconsiderable=False):
            return False, None
        if tx.wtxid in self._reconsiderable:
            package_logger.debug(
                "found tx %s (wtxid=%s) in reconsiderable rejects, looking for child in orphanage",
                hash_to_hex(tx.txid),
                hash_to_hex(tx.wtxid),
            )
            return False, self._find_package(tx, peer)
        return True, None

    def _find_package(self, parent: Transaction, peer: PeerId) -> PackageToTry | None:
        """Return an untried package with a child from the same peer, the newest first: others could push fakes before it."""
        for child in self.orphans.children_from_same_peer(parent.txid, peer):
            if package_hash((parent, child)) not in self._reconsiderable and child.txid not in self._rejected:
                return PackageToTry(parent, child, peer)
        return None

    def accepted(self, tx: Transaction) -> bool:
        """Note that a transaction is in the pool; whether orphans are to be looked at again for it."""
        self._forget_requests(tx)
        marked = self.orphans.add_children_to_work_set(tx, _RANDOM.randrange)
        self.orphans.erase(tx.wtxid)
        return bool(marked)

    def _forget_requests(self, tx: Transaction) -> None:
        self.requests.forget(tx.txid)
        self.requests.forget(tx.wtxid)

    def rejected(
        self, tx: Transaction, rejection: TxRejection, peer: PeerId, now_us: int, *, first_time: bool
    ) -> AfterRejection:
        """Note that a transaction was not taken in. `first_time` is False for orphans and members of packages."""
        if rejection is TxRejection.TX_MISSING_INPUTS:
            if not first_time or tx.wtxid in self._rejected:
                return AfterRejection(first_time)
            return self._handle_orphan(tx, peer, now_us)
        package = None
        keep = first_time and rejection is not TxRejection.TX_WITNESS_STRIPPED
        if rejection is not TxRejection.TX_WITNESS_STRIPPED:
            # Only the wtxid: with another witness the same txid may be valid.
            package = self._note_rejection(tx, rejection, peer, first_time=first_time)
        if self.orphans.erase(tx.wtxid):
            package_logger.debug("   removed orphan tx %s (wtxid=%s)", hash_to_hex(tx.txid), hash_to_hex(tx.wtxid))
        return AfterRejection(keep, package=package)

    def _note_rejection(
        self, tx: Transaction, rejection: TxRejection, peer: PeerId, *, first_time: bool
    ) -> PackageToTry | None:
        package = None
        if rejection is TxRejection.TX_RECONSIDERABLE:
            self._reconsiderable.add(tx.wtxid)
            if first_time:
                package_logger.debug(
                    "tx %s (wtxid=%s) failed but reconsiderable, looking for child in orphanage",
                    hash_to_hex(tx.txid),
                    hash_to_hex(tx.wtxid),
                )
                package = self._find_package(tx, peer)
        else:
            self._rejected.add(tx.wtxid)
        self.requests.forget(tx.wtxid)
        # What is spent is fixed by the txid, so no witness will help.
        if rejection is TxRejection.TX_INPUTS_NOT_STANDARD and tx.has_witness:
            self._rejected.add(tx.txid)
            self.requests.forget(tx.txid)
        return package

    def _handle_orphan(self, tx: Transaction, peer: PeerId, now_us: int) -> AfterRejection:
        parents = _parents_of(tx)
        if self._is_hopeless(parents):
            logging.getLogger("clarion.mempool").debug(
                "not keeping orphan with rejected parents %s (wtxid=%s)", hash_to_hex(tx.txid), hash_to_hex(tx.wtxid)
            )
            # Whatever its witness: peers that announce txids are not asked for it again either.
            self._rejected.add(tx.txid)
            self._rejected.add(tx.wtxid)
            self._forget_requests(tx)
            return AfterRejection(True)
        missing = self._missing(parents)
        is_new = not self.orphans.have(tx.wtxid)
        candidates = [peer, *self.requests.candidate_peers(tx.txid)]
        if tx.has_witness:
            candidates += self.requests.candidate_peers(tx.wtxid)
        for candidate in candidates:
            if self._may_resolve(candidate, tx.wtxid, missing, now_us):
                self.orphans.add(tx, candidate)
        self._forget_requests(tx)
        return AfterRejection(is_new, missing)

    def _is_hopeless(self, parents: Sequence[Txid]) -> bool:
        """Whether parents were rejected so that no package of one parent and one child can help."""
        reconsiderable = 0
        for txid in parents:
            if txid in self._rejected:
                return True
            if txid in self._reconsiderable and txid not in self._pool:
                reconsiderable += 1
        return reconsiderable > 1

    def package_rejected(self, package: PackageToTry) -> None:
        """Note that a package failed, which is not tried again."""
        self._reconsiderable.add(package_hash(package.txs))


def _parents_of(tx: Transaction) -> list[Txid]:
    return sorted({outpoint_txid(txin.prevout) for txin in tx.inputs})
