"""The network thread: one event loop on which everything about peers happens.

Owns: its start and stop, listening, and the way in from other threads. Never: messages.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from clarion.node.net.address import Endpoint, from_v1, parse_address
from clarion.node.net.clock import SECOND_US
from clarion.node.net.connection import Connection
from clarion.node.net.connector import Connector
from clarion.node.net.context import NetContext
from clarion.node.net.handshake import TIMEOUT_INTERVAL_US, Handshake
from clarion.node.net.inventory import Inventory
from clarion.node.net.listener import Bind, Listener, binds_of
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.relay.transaction_relay import TransactionRelay
from clarion.node.net.sync.block_sync import BlockSync
from clarion.node.net.transport.transport import Transport
from clarion.node.net.transport.v1 import V1Transport
from clarion.node.net.transport.v2 import V2Transport
from clarion.node.primitives.block import Block

T = TypeVar("T")

TICK_S = 0.1

logger = logging.getLogger("clarion.net")


class NetService:
    """The node's part in the network. `start` and `stop` may be called from any thread, the rest says so."""

    def __init__(self, context: NetContext) -> None:
        self.context = context
        self.peers = PeerManager(context.clock.now_us)
        self.handshake = Handshake(context, self.peers)
        self.sync = BlockSync(context, self.peers)
        self.relay = TransactionRelay(context, self.peers, self.handshake.rejects_transactions)
        self.inventory = Inventory(self.peers, context.clock, self.sync, self.relay)
        self.connector = Connector(context, self._open)
        self.listener = Listener(binds_of(context.options, context.params.default_port), self._accept)
        self.active = context.options.network_active
        self.connector.is_active = lambda: self.active
        self.connector.spawn = self.spawn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="net", daemon=True)
        self._stopping: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started = threading.Event()

    # --- other threads ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Bind, and begin to take part. Raises ConfigError if an address can't be bound."""
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

    def soon(self, function: Callable[..., object], *args: Any) -> None:
        """Have `function` called on the network thread, without waiting; nothing happens once it has ended."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *args)

    # --- the network thread -----------------------------------------------------------------------------------------

    @property
    def local_services(self) -> int:
        """What we offer."""
        services = ServiceFlags.NETWORK | ServiceFlags.NETWORK_LIMITED | ServiceFlags.WITNESS
        return services | ServiceFlags.P2P_V2 if self.context.options.v2_transport else services

    def set_active(self, active: bool) -> None:
        """Take part in the network or leave it; existing connections end."""
        if active == self.active:
            return
        logger.info("SetNetworkActive: %s", str(active).lower())
        self.active = active
        if not active:
            for peer in list(self.peers.peers.values()):
                peer.disconnect()

    def disconnect(self, *, address: str | None = None, peer_id: int | None = None) -> bool:
        """Leave the peers of an address, or one by id; whether there were any."""
        found = [
            peer
            for peer in self.peers.peers.values()
            if not peer.leaving
            and (peer.id == peer_id if peer_id is not None else address in (peer.name, str(peer.endpoint)))
        ]
        for peer in found:
            peer.disconnect("disconnect by id matched" if peer_id is not None else "disconnect by address matched")
        return bool(found)

    def spawn(self, work: Awaitable[Any]) -> None:
        """Run `work` beside everything else; it is cancelled when the network ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def spawn_connection(self, name: str, connection_type: ConnectionType, use_v2: bool) -> None:
        """Open one connection beside everything else."""
        self.spawn(self.connector.connect(name, connection_type, use_v2))

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._listen_to_chain()
        await self.listener.start()
        self.spawn(self._tick())
        for work in (*self.connector.tasks(), self.relay.reception.work()):
            self.spawn(work)
        self._started.set()
        await self._stopping.wait()
        self.listener.close()
        for peer in list(self.peers.peers.values()):
            peer.disconnect()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _listen_to_chain(self) -> None:
        manager = self.context.chain.manager
        manager.tip_watch.subscribe(lambda: self.soon(self.sync.tip_moved))
        manager.state.on_refused = lambda block_hash, invalid: self.soon(
            self.sync.download.block_failed, block_hash, invalid
        )
        updates = self.context.mempool.updates
        updates.on_connected = self._block_connected
        updates.on_disconnected = lambda: self.soon(self.relay.block_disconnected)

    def _block_connected(self, block: Block) -> None:
        """Hear of a new block on the chain thread. What matters to relay does not while we catch up."""
        if not self.context.chain.manager.initial_download:
            self.soon(self.relay.block_connected, block)

    async def _tick(self) -> None:
        clock = self.context.clock
        while True:
            await asyncio.sleep(TICK_S)
            now_us = clock.now_us()
            try:
                for peer in list(self.peers.peers.values()):
                    self._check_activity(peer, now_us)
                self.peers.tick(now_us)
            except Exception:
                logger.exception("The network's periodic work failed")

    def _check_activity(self, peer: Peer, now_us: int) -> None:
        """Leave a peer that does not open, send or take anything (the reference's InactivityCheck)."""
        now = now_us // SECOND_US
        timeout = self.context.options.peer_timeout_s
        if peer.leaving or peer.connected_at + timeout >= now:
            return
        limit = TIMEOUT_INTERVAL_US // SECOND_US
        if not peer.last_receive or not peer.last_send:
            never = "" if peer.last_receive else ", never received from peer"
            never += "" if peer.last_send else ", never sent to peer"
            peer.disconnect(f"socket no message in first {timeout} seconds{never}")
        elif now > peer.last_send + limit:
            peer.disconnect(f"socket sending timeout: {now - peer.last_send}s")
        elif now > peer.last_receive + limit:
            peer.disconnect(f"socket receive timeout: {now - peer.last_receive}s")
        elif not peer.fully_connected:
            detecting = peer.transport.transport_type == "detecting"
            peer.disconnect("V2 handshake timeout" if detecting else "version handshake timeout")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bind: Bind) -> None:
        endpoint, bound_to = _endpoint(writer, "peername"), _endpoint(writer, "sockname")
        if not self.active:
            logger.debug("connection from %s dropped: not accepting new connections", endpoint)
            writer.close()
            return
        peer_id = self.peers.next_id()
        logger.debug("connection from %s accepted, peer=%d", endpoint, peer_id)
        magic = self.context.params.magic
        transport: Transport
        if self.context.options.v2_transport:
            transport = V2Transport(magic, initiating=False, peer_id=peer_id)
        else:
            transport = V1Transport(magic, peer_id)
        peer = self._peer(peer_id, endpoint, ConnectionType.INBOUND, transport, bound_to)
        # Tor hides who it is, so the address says nothing.
        address = None if bind.onion else endpoint.address
        peer.permissions = self.context.options.whitelist.inbound(address, bind.permissions)
        peer.onion_inbound = bind.onion
        await self._serve(reader, writer, peer)

    async def _open(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        name: str,
        connection_type: ConnectionType,
        use_v2: bool,
    ) -> bool:
        """Run an outbound connection to its end; whether another try with the first transport may help."""
        endpoint, bound_to = _endpoint(writer, "peername"), _endpoint(writer, "sockname")
        peer_id = self.peers.next_id()
        magic = self.context.params.magic
        transport: Transport
        if use_v2:
            transport = V2Transport(magic, initiating=True, peer_id=peer_id)
        else:
            transport = V1Transport(magic, peer_id)
        peer = self._peer(peer_id, endpoint, connection_type, transport, bound_to, name=name)
        if peer.is_manual:
            peer.permissions = self.context.options.whitelist.outbound(endpoint.address)
        await self._serve(reader, writer, peer)
        return transport.should_reconnect_v1

    def _peer(
        self,
        peer_id: int,
        endpoint: Endpoint,
        connection_type: ConnectionType,
        transport: Transport,
        bound_to: Endpoint,
        name: str = "",
    ) -> Peer:
        return Peer(
            peer_id,
            endpoint,
            connection_type,
            transport,
            name=name,
            bound_to=bound_to,
            our_services=self.local_services,
            connected_at=self.context.clock.now(),
            log_ips=self.context.options.log_ips,
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer) -> None:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = self.context.options
        connection = Connection(reader, writer, peer, self.peers, self.context.clock, options.max_send_buffer)
        await connection.run()


def _endpoint(writer: asyncio.StreamWriter, which: str) -> Endpoint:
    host, port = writer.get_extra_info(which)[:2]
    address = parse_address(host)
    assert address is not None, "a socket's address is one in numbers"
    return Endpoint(from_v1(address.to_v1()), port)
