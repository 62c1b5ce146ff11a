"""The network thread: one event loop on which everything about peers happens.

Owns: its start and stop, listening, and the way in from other threads. Never: messages.
"""

import asyncio
import contextlib
import logging
import random
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from clarion.node.net.activity import check_activity
from clarion.node.net.added_nodes import AddedNodes
from clarion.node.net.address_book import MAP_INTERVAL_S, PEERS_INTERVAL_S, AddressBook
from clarion.node.net.bans import DUMP_INTERVAL_S, BanList
from clarion.node.net.bloom_serving import BloomServing
from clarion.node.net.connections import Connections
from clarion.node.net.connector import Connector
from clarion.node.net.context import NetContext
from clarion.node.net.extra_peers import CHECK_INTERVAL_S, ExtraPeers
from clarion.node.net.filter_serving import FilterServing
from clarion.node.net.handshake import Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.listener import Listener, binds_of
from clarion.node.net.outbound import Outbound
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.seeding import Seeding
from clarion.node.net.slots import Slots, limits_of
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.tor.onion_service import OnionService
from clarion.node.primitives.block import Block
from clarion.node.scheduler import Scheduler

T = TypeVar("T")

TICK_S = 0.1
REBROADCAST_S = 10 * 60, 15 * 60

logger = logging.getLogger("clarion.net")


class NetService:
    """The node's part in the network. `start` and `stop` may be called from any thread, the rest says so."""

    def __init__(self, context: NetContext) -> None:
        self.context = context
        self.peers = PeerManager(context.clock.now_us)
        self.handshake = Handshake(context, self.peers)
        self.sync = BlockSync(context, self.peers)
        BloomServing(self.peers)
        FilterServing(context, self.peers, self.sync.serving.may_have)
        self.relay = TransactionRelay(context, self.peers, self.handshake.rejects_transactions)
        self.inventory = Inventory(self.peers, context.clock, self.sync, self.relay)
        self.relay.reception.keep_for_compact_blocks = self.sync.compact.extra.append
        self.limits = limits_of(context.options.max_connections)
        self.outbound_slots = Slots(min(self.limits.outbound, self.limits.automatic))
        self.bans = BanList(context.data_dir / "banlist.json", context.clock.now, context.options.ban_time_s)
        self.peers.discourage = lambda peer: self.bans.discourage(peer.endpoint.address)
        self.connections = Connections(context, self.peers, self.bans, self.limits, self.spawn)
        binds = binds_of(context.options, context.params.default_port)
        self.listener = Listener(binds, context.options.stream_limit, self.connections.accept)
        self.addresses = AddressBook(context, self.peers, self.handshake, self.bans, binds)
        self.connector = Connector(
            context, self.connections, self.bans, self.addresses.manager, self.addresses.own, self.spawn
        )
        self.added_nodes = AddedNodes(context, self.peers, self.connector)
        self.seeding = Seeding(
            context,
            self.peers,
            self.connector,
            self.addresses.manager,
            self.outbound_slots,
            lambda: bool(self.added_nodes.nodes),
            lambda: self.connections.active,
        )
        self.outbound = Outbound(
            context,
            self.peers,
            self.connector,
            self.addresses.manager,
            self.addresses.own,
            self.seeding,
            self.limits,
            self.outbound_slots,
            self.added_nodes.contains,
            self.handshake.has_wanted_services,
        )
        self.extra_peers = ExtraPeers(context, self.peers, self.outbound, self.sync, lambda: self.connections.active)
        self._behind_commit: deque[Callable[[], None]] = deque()
        """What relay must hear once the blocks that it is about are committed. The chain thread's."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="net", daemon=True)
        self._stopping: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started = threading.Event()

    # --- other threads ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Bind, and begin to take part. Raises ConfigError if an address can't be bound."""
        self.bans.load()
        self.listener.bind()
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """Leave every peer and end the thread."""
        loop = self._loop
        if loop is None or self._stopping is None:
            return
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self.relay.reception.close()

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Return what `function` returns on the network thread."""

        async def work() -> T:
            return function(*args)

        return self.run(work())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns on the network thread."""
        assert self._loop is not None, "the network has been started"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def schedule(self, scheduler: Scheduler) -> None:
        """Have what is done now and then done on the network thread."""
        scheduler.every(DUMP_INTERVAL_S, lambda: self.soon(self.bans.dump))
        scheduler.every(PEERS_INTERVAL_S, lambda: self.soon(self.addresses.save))
        scheduler.every(MAP_INTERVAL_S, lambda: self.soon(self.addresses.check_map))
        scheduler.every(CHECK_INTERVAL_S, lambda: self.soon(self.extra_peers.check))
        self._rebroadcast_later(scheduler)

    def _rebroadcast_later(self, scheduler: Scheduler) -> None:
        """Tell peers in a while again of transactions that none has asked for; the moment is random, as it is a trace."""

        def work() -> None:
            self.soon(self.relay.rebroadcast)
            self._rebroadcast_later(scheduler)

        scheduler.later(random.uniform(*REBROADCAST_S), work)

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        """Have `function` called on the network thread, without waiting; nothing happens once it has ended."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *args)

    # --- the network thread -----------------------------------------------------------------------------------------

    def spawn(self, work: Awaitable[Any]) -> None:
        """Run `work` beside everything else; it is cancelled when the network ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("Work of the network failed", exc_info=task.exception())

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._listen_to_chain()
        self.addresses.check_map()
        await self.listener.start()
        self.spawn(self._tick())
        self.spawn(self.added_nodes.keep_added())
        self.spawn(self.seeding.ask_dns())
        connect = self.context.options.connect
        if connect is None:
            self.outbound.anchors = self.addresses.take_anchors()
            self.spawn(self.outbound.keep())
        elif connect:
            self.spawn(self.added_nodes.keep_only(connect))
        self.spawn(self.relay.reception.work())
        self._ask_for_onion_service()
        self._started.set()
        await self._stopping.wait()
        self.listener.close()
        if self.context.options.connect is None:
            self.addresses.save_anchors()
        for peer in list(self.peers.peers.values()):
            peer.disconnect()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.bans.dump()
        self.addresses.save()

    def _ask_for_onion_service(self) -> None:
        tor, binds = self.context.options.tor, self.listener.binds
        if tor is None or not binds:
            return
        onion = [bind.endpoint for bind in binds if bind.onion]
        target = (onion or [binds[0].endpoint])[0]
        if len(onion) > 1:
            logger.warning(
                "More than one onion bind address is provided. Using %s for the automatically created Tor onion service.",
                target,
            )
        self.spawn(OnionService(self.context, tor, self.addresses.own, target).run())

    def _listen_to_chain(self) -> None:
        manager = self.context.chain.manager
        # First: what a block means to relay is known before its tip is.
        manager.tip_watch.subscribe(self._tell_relay)
        manager.tip_watch.subscribe(lambda: self.soon(self.sync.tip_moved))
        manager.state.on_refused = lambda block_hash, invalid: self.soon(
            self.sync.download.block_failed, block_hash, invalid
        )
        manager.tip_watch.subscribe(lambda: self.soon(self._tip_changed))
        updates = self.context.mempool.updates
        updates.on_connected = self._block_connected
        updates.on_disconnected = lambda: self._behind_commit.append(self.relay.block_disconnected)

    def _tip_changed(self) -> None:
        if not self.context.chain.manager.initial_download:
            self.relay.download.tip_changed()

    def _block_connected(self, block: Block) -> None:
        """Hear of a new block on the chain thread. What matters to relay does not while we catch up."""
        if not self.context.chain.manager.initial_download:
            self._behind_commit.append(partial(self.relay.block_connected, block))

    def _tell_relay(self) -> None:
        """Hear on the chain thread that blocks are committed. Relay hears of them now, and not while others wait for it."""
        while self._behind_commit:
            self.soon(self._behind_commit.popleft())

    async def add_connection(self, name: str, kind: ConnectionType, use_v2: bool) -> bool:
        """Open a connection as if we had chosen the peer; False if there is no slot for one of this kind."""
        most = {
            ConnectionType.OUTBOUND_FULL_RELAY: self.limits.full_relay,
            ConnectionType.BLOCK_RELAY: self.limits.block_relay,
        }.get(kind)
        if most is not None and len(self.connections.of_kind(kind)) >= most:
            return False
        slot = await self.outbound_slots.take_now()
        if slot is None:
            return False
        await self.connector.open_name(name, kind, use_v2=use_v2, slot=slot)
        return True

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.tick()

    def tick(self) -> None:
        """Do for all peers what is due now: ten times a second, and when the clock has been set."""
        now_us = self.context.clock.now_us()
        try:
            for peer in list(self.peers.peers.values()):
                check_activity(peer, now_us, self.context.options.peer_timeout_s)
            self.peers.tick(now_us)
        except Exception:
            logger.exception("The network's periodic work failed")
