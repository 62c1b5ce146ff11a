"""Transactions that peers send.

Owns: the way of each one through the mempool, and what its outcome means for others. Never: judging.
Source: Bitcoin Core's net_processing.cpp. Belongs to the network thread.

One transaction of the network is judged at a time, and its outcome noted before the next one's turn: else a child might
be put down as an orphan while its parent comes in, and be forgotten.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.result import AcceptResult, PackageResult, ResultKind
from clarion.node.net.context import NetContext
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.relay.announcements import TransactionAnnouncements
from clarion.node.net.relay.download import PackageToTry, TransactionDownload
from clarion.node.net.relay.request_tracker import PeerId
from clarion.node.net.relay.state import RelayState
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction

T = TypeVar("T")

logger = logging.getLogger("clarion.net")
package_logger = logging.getLogger("clarion.txpackages")
rejection_logger = logging.getLogger("clarion.mempoolrej")
mempool_logger = logging.getLogger("clarion.mempool")


class TransactionReception:
    """Takes transactions in."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        download: TransactionDownload,
        announcements: TransactionAnnouncements,
        rejects: Callable[[Peer], bool],
    ) -> None:
        """`rejects` says whether a peer may send no transactions at all."""
        self._context = context
        self._mempool = context.mempool
        self._peers = peers
        self._download = download
        self._announcements = announcements
        self._rejects = rejects
        self._turn = asyncio.Lock()
        self._work = asyncio.Event()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="net-tx")
        self.keep_for_compact_blocks: Callable[[Transaction], None] = lambda tx: None
        """Called with transactions that are not in the pool but may well be in a block."""

    def close(self) -> None:
        """Wait for the transaction at hand. Call it when the network has ended and the chain has not."""
        self._executor.shutdown()

    async def handle(self, peer: Peer, payload: bytes) -> None:
        """Handle a `tx` message."""
        if self._rejects(peer):
            peer.disconnect("transaction sent in violation of protocol")
            return
        if self._context.chain.manager.initial_download:
            return
        tx = TxMessage.parse(payload).tx
        self._note_known(peer.id, tx.wtxid if peer.wtxid_relay else tx.txid)
        async with self._turn:
            if not peer.leaving:
                await self._take(peer, tx)

    def _note_known(self, peer: PeerId, tx_hash: bytes) -> None:
        """Note that a peer, if it is still there, knows a hash."""
        found = self._peers.peers.get(peer)
        if found is not None and found.relays_txs:
            found.state(RelayState).known.add(tx_hash)

    async def _take(self, peer: Peer, tx: Transaction) -> None:
        wanted, package = self._download.received(peer.id, tx)
        if not wanted:
            if peer.may(Permission.FORCE_RELAY):
                self._force_relay(peer, tx)
            if package is not None:
                await self._try_package(package)
            return
        result = await self._offer_new(tx)
        if result.valid:
            self._note_valid(peer.id, tx, result)
            peer.last_transaction = self._context.clock.now()
        elif result.error is not None:
            package = self._note_invalid(peer.id, tx, result.error, first_time=True)
            if package is not None:
                await self._try_package(package)

    def _force_relay(self, peer: Peer, tx: Transaction) -> None:
        """Be a gateway for a peer behind us: what it sends is told again."""
        known = tx.txid in self._mempool.pool
        logger.info(
            "Force relaying tx %s (wtxid=%s) from peer=%d"
            if known
            else "Not relaying non-mempool transaction %s (wtxid=%s) from forcerelay peer=%d",
            hash_to_hex(tx.txid),
            hash_to_hex(tx.wtxid),
            peer.id,
        )
        if known:
            self._announcements.announce(tx.txid, tx.wtxid)

    # --- the mempool ------------------------------------------------------------------------------------------------

    async def _offer_new(self, tx: Transaction) -> AcceptResult:
        """Offer a transaction, and again if parents may have come by another way while the verdict was under way.

        As an orphan it would wait in vain for those.
        """
        before = self._ground()
        result = await self._offer(tx)
        if _is_orphan(result) and self._ground() != before:
            result = await self._offer(tx)
        return result

    def _ground(self) -> tuple[object, int]:
        """Return what verdicts stand on: the tip, and the state of the pool."""
        return self._context.chain.manager.tip, self._mempool.pool.generation

    async def _offer(self, tx: Transaction) -> AcceptResult:
        return await self._off_the_loop(lambda: self._mempool.accept(tx))

    async def _try_package(self, package: PackageToTry) -> None:
        result: PackageResult = await self._off_the_loop(lambda: self._mempool.accept_package(package.txs))
        verdict = "package accepted" if result.error is None else "package rejected"
        package_logger.debug("package evaluation for %s: %s", package, verdict)
        self._note_package(package, result)

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    # --- outcomes ---------------------------------------------------------------------------------------------------

    def _note_valid(self, peer: PeerId, tx: Transaction, result: AcceptResult) -> None:
        if self._download.accepted(tx):
            self._work.set()
        if mempool_logger.isEnabledFor(logging.DEBUG):
            # Not here: the loop must not wait for the pool.
            self._executor.submit(self._log_accepted, peer, tx)
        self._announcements.announce(tx.txid, tx.wtxid)
        for replaced in result.replaced:
            self.keep_for_compact_blocks(replaced)

    def _log_accepted(self, peer: PeerId, tx: Transaction) -> None:
        pool = self._mempool.pool
        with pool.lock:
            count, usage = len(pool), pool.usage_bytes
        mempool_logger.debug(
            "AcceptToMemoryPool: peer=%d: accepted %s (wtxid=%s) (poolsz %u txn, %u kB)",
            peer,
            hash_to_hex(tx.txid),
            hash_to_hex(tx.wtxid),
            count,
            usage // 1000,
        )

    def _note_invalid(
        self, peer: PeerId, tx: Transaction, error: TxRejected, *, first_time: bool
    ) -> PackageToTry | None:
        rejection_logger.debug(
            "%s (wtxid=%s) from peer=%d was not accepted: %s",
            hash_to_hex(tx.txid),
            hash_to_hex(tx.wtxid),
            peer,
            error,
        )
        now_us = self._context.clock.now_us()
        after = self._download.rejected(tx, error.rejection, peer, now_us, first_time=first_time)
        if after.keep_for_compact_blocks:
            self.keep_for_compact_blocks(tx)
        for parent in after.unknown_parents:
            self._note_known(peer, parent)
        return after.package

    def _note_package(self, package: PackageToTry, result: PackageResult) -> None:
        if result.error is not None:
            self._download.package_rejected(package)
        # The child first, so that its parent does not have it looked at again.
        for tx in reversed(package.txs):
            outcome = result.results.get(tx.wtxid)
            if outcome is None:
                continue
            if outcome.valid:
                self._note_valid(package.peer, tx, outcome)
            elif outcome.error is not None:
                self._note_invalid(package.peer, tx, outcome.error, first_time=False)
            elif outcome.kind is ResultKind.DIFFERENT_WITNESS:
                self._note_invalid(package.peer, tx, _DIFFERENT_WITNESS, first_time=False)

    # --- orphans whose parent came ----------------------------------------------------------------------------------

    async def work(self) -> None:
        """Look at orphans again whenever there are some, as long as the network runs."""
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self.reconsider_all()
            except Exception:
                logger.exception("Orphans could not be looked at again")

    async def reconsider_all(self) -> None:
        """Look at all orphans whose parent came, one of each peer at a time."""
        while busy := [peer for peer in self._peers.peers if self._download.orphans.have_work(peer)]:
            for peer in busy:
                await self._reconsider_one(peer)

    async def reconsider(self, peer: Peer) -> None:
        """Look at all orphans of a peer whose parent came, before its next message."""
        while self._download.orphans.have_work(peer.id):
            await self._reconsider_one(peer.id)

    async def _reconsider_one(self, peer: PeerId) -> None:
        async with self._turn:
            tx = self._download.orphans.take_work(peer)
            if tx is None:
                return
            result = await self._offer(tx)
            if result.valid:
                package_logger.debug("   accepted orphan tx %s (wtxid=%s)", hash_to_hex(tx.txid), hash_to_hex(tx.wtxid))
                self._note_valid(peer, tx, result)
            elif result.error is not None and not _is_orphan(result):
                package_logger.debug(
                    "   invalid orphan tx %s (wtxid=%s) from peer=%d. %s",
                    hash_to_hex(tx.txid),
                    hash_to_hex(tx.wtxid),
                    peer,
                    result.error,
                )
                self._note_invalid(peer, tx, result.error, first_time=False)


def _is_orphan(result: AcceptResult) -> bool:
    return result.error is not None and result.error.rejection is TxRejection.TX_MISSING_INPUTS


_DIFFERENT_WITNESS = TxRejected(TxRejection.TX_UNKNOWN, "")
"""Not judged, since the pool has it with another witness."""
