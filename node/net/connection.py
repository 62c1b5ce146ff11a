"""One connection: a socket, its transport, and the peer at the other end.

Owns: reading and writing, and the task that handles the peer's messages one after the other. Never: what they mean.
"""

import asyncio
import contextlib
import logging

from clarion.node.errors import PeerError
from clarion.node.net.context import NetContext
from clarion.node.net.peer import Peer
from clarion.node.net.peer_manager import PeerManager

READ_SIZE = 1 << 16
_LINGER_S = 1.0
"""How long a peer that we leave has to take what was sent before."""

logger = logging.getLogger("clarion.net")


class Connection:
    """Runs a peer until one side has had enough."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: Peer,
        peers: PeerManager,
        context: NetContext,
    ) -> None:
        """While more bytes than -maxsendbuffer wait to be sent, none of the peer's messages is handled."""
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._peers = peers
        self._clock = context.clock
        self._traffic = context.traffic
        writer.transport.set_write_buffer_limits(high=context.options.max_send_buffer)
        peer.write = self._write
        peer.close = self._close
        peer.drain = writer.drain
        peer.now_seconds = context.clock.now

    async def run(self) -> None:
        """Exchange messages until the connection ends; nothing is raised for what the peer does.

        The peer is one of ours already; when this returns it is not any more.
        """
        peer = self._peer
        try:
            self._flush()
            while not peer.leaving:
                data = await self._reader.read(READ_SIZE)
                if not data:
                    if not peer.leaving:
                        logger.debug("socket closed, %s", peer.disconnecting)
                    return
                await self._receive(data)
        except PeerError as error:
            logger.debug("%s", error)
            logger.debug("receiving message bytes failed, %s", peer.disconnecting)
        except OSError as error:
            if not peer.leaving:
                logger.debug("socket recv error, %s: %s", peer.disconnecting, error)
        except Exception:
            logger.exception("A message of peer=%d could not be handled", peer.id)
        finally:
            peer.leaving = True
            self._peers.remove(peer)
            self._writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._writer.wait_closed()

    async def _receive(self, data: bytes) -> None:
        peer = self._peer
        peer.last_receive = self._clock.now()
        peer.total_received += len(data)
        self._traffic.add_received(len(data))
        peer.transport.receive(data)
        self._flush()
        for received in peer.transport.messages():
            peer.bytes_received[received.command or "*other*"] += received.wire_size
            if received.command:
                await self._peers.process(peer, received)
                # A peer that sends many small messages must not keep the others waiting.
                await asyncio.sleep(0)
            if peer.leaving:
                return
            await self._writer.drain()

    def _flush(self) -> None:
        """Send what the transport itself has to say."""
        pending = self._peer.transport.pending()
        if pending:
            self._write(pending)
            for command, size in self._peer.transport.delayed():
                self._peer.bytes_sent[command] += size

    def _write(self, data: bytes) -> None:
        if data and not self._writer.is_closing():
            self._peer.last_send = self._clock.now()
            self._peer.total_sent += len(data)
            self._traffic.add_sent(len(data))
            self._writer.write(data)

    def _close(self) -> None:
        # What was sent just before (a last message) still goes out; a peer that does not read is cut off.
        self._writer.close()
        self._reader.feed_eof()
        asyncio.get_running_loop().call_later(_LINGER_S, self._writer.transport.abort)
