"""The onion service: Tor is asked for one, which leads to us, as long as the node runs.

Owns: the connection to Tor's control port, the service's key, and what we learn from Tor. Never: who connects.
Source: Bitcoin Core's src/torcontrol.cpp. Belongs to the network thread.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from clarion.node.errors import PeerError
from clarion.node.net.address import Endpoint, Network, parse_address, parse_endpoint, split_host_port
from clarion.node.net.context import NetContext
from clarion.node.net.local_addresses import LocalAddresses, Origin
from clarion.node.net.options import TorOptions
from clarion.node.net.proxy import DEFAULT_PORT as SOCKS_PORT
from clarion.node.net.proxy import Proxy
from clarion.node.net.text import sanitize
from clarion.node.net.tor.authentication import OK, Ask, authenticate
from clarion.node.net.tor.replies import ASYNCHRONOUS, MAX_LINE_BYTES, Reply, ReplyReader, parse_mapping

CONTROL_PORT = 9051
KEY_FILE = "onion_v3_private_key"
NEW_KEY = "NEW:ED25519-V3"
RETRY_S = 1.0
RETRY_GROWTH = 1.5
MAX_RETRY_S = 600.0
_UNRECOGNIZED, _SYNTAX_ERROR = 510, 512
_READ_SIZE = 4096
_SOCKS = "net/listeners/socks="

logger = logging.getLogger("clarion.tor")


class OnionService:
    """Keeps the service up."""

    def __init__(self, context: NetContext, tor: TorOptions, own: LocalAddresses, target: Endpoint) -> None:
        """`target` is where Tor delivers to."""
        self._context = context
        self._tor = tor
        self._own = own
        self._target = target
        self._key_path: Path = context.data_dir / KEY_FILE
        self._key = ""
        self._service: Endpoint | None = None

    async def run(self) -> None:
        """Connect to Tor, and again when the connection ends, until this is cancelled."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            self._key = self._key_path.read_text("ascii")
            logger.debug("Reading cached private key from %s", self._key_path)
        pause_s = RETRY_S
        while True:
            streams = await self._connect()
            if streams is None:
                logger.debug("Retrying in %.1f seconds", pause_s)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * RETRY_GROWTH, MAX_RETRY_S)
                continue
            pause_s = RETRY_S
            try:
                await self._talk(*streams)
            finally:
                self._forget()
                streams[1].close()
            logger.debug("Not connected to Tor control port %s, will retry", self._tor.control)
            await asyncio.sleep(pause_s)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        control = self._tor.control
        logger.debug("Attempting to connect to Tor control port %s", control)
        options = self._context.options
        parts = split_host_port(control, CONTROL_PORT)
        if parts is None or (not options.dns and parse_address(parts[0]) is None):
            logger.warning("tor: Failed to look up control center %s", control)
            return None
        try:
            async with asyncio.timeout(options.timeout_ms / 1000):
                streams = await asyncio.open_connection(*parts, limit=MAX_LINE_BYTES)
        except (OSError, TimeoutError):
            logger.warning("tor: Error connecting to address %s", control)
            return None
        logger.debug("Successfully connected to Tor control port")
        return streams

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Set the service up and wait until the connection ends; the service lasts as long."""
        replies = _replies(reader)

        async def ask(command: str) -> Reply:
            writer.write(command.encode() + b"\r\n")
            await writer.drain()
            return await anext(replies)

        try:
            try:
                await authenticate(ask, self._tor.password)
                if self._tor.finds_proxy:
                    self._use_proxy(await ask("GETINFO net/listeners/socks"))
                await self._add(ask)
            except _Ended:
                raise
            except PeerError as error:
                # Tor may be set up otherwise by the time that the connection ends.
                logger.warning("tor: %s", error)
            async for _ in replies:
                logger.debug("Received unexpected sync reply")
        except StopAsyncIteration:
            logger.debug("End of stream")
        except _Ended as error:
            logger.warning("tor: Error processing receive buffer: %s", error)
        except OSError as error:
            logger.warning("tor: Error reading from socket: %s", error)

    # --- the service ------------------------------------------------------------------------------------------------

    async def _add(self, ask: Ask) -> None:
        key = self._key or NEW_KEY
        # Others find us at the network's usual port: another one would tell which node this is.
        where = f"Port={self._context.params.default_port},{self._target}"
        reply = await ask(f"ADD_ONION {key} PoWDefensesEnabled=1 {where}")
        defended = reply.code != _SYNTAX_ERROR
        if not defended:
            logger.debug("ADD_ONION failed with PoW defenses, retrying without")
            reply = await ask(f"ADD_ONION {key} {where}")
        if reply.code == _UNRECOGNIZED:
            raise PeerError("Add onion failed with unrecognized command (You probably need to upgrade Tor)")
        if reply.code != OK:
            raise PeerError(f"Add onion failed; error code {reply.code}")
        logger.debug("ADD_ONION successful (PoW defenses %s)", "enabled" if defended else "disabled")
        self._note(reply)

    def _note(self, reply: Reply) -> None:
        values: dict[str, str] = {}
        for line in reply.lines:
            values |= parse_mapping(line)
        name = values.get("ServiceID", "")
        address = parse_address(f"{name}.onion") if name else None
        if address is None:
            raise PeerError(f"Error parsing ADD_ONION parameters: {sanitize(' '.join(reply.lines))}")
        self._key = values.get("PrivateKey", self._key)
        self._service = Endpoint(address, self._context.params.default_port)
        logger.info("Got tor service ID %s, advertising service %s", name, self._service)
        self._keep_key()
        self._own.add(self._service, Origin.MANUAL)

    def _keep_key(self) -> None:
        try:
            self._key_path.touch(mode=0o600)
            self._key_path.write_text(self._key, "ascii")
            logger.debug("Cached service private key to %s", self._key_path)
        except (OSError, UnicodeEncodeError):
            logger.warning("tor: Error writing service private key to %s", self._key_path)

    def _forget(self) -> None:
        if self._service is not None:
            self._own.remove(self._service.address)
            self._service = None

    # --- the way to other onion services --------------------------------------------------------------------------------

    def _use_proxy(self, reply: Reply) -> None:
        """Reach onion addresses by the proxy that Tor itself offers."""
        place = _socks_place(reply) if reply.code == OK else ""
        if place:
            logger.debug("Get SOCKS port command yielded %s", place)
        elif reply.code == OK:
            logger.warning("tor: Get SOCKS port command returned nothing")
        elif reply.code == _UNRECOGNIZED:
            logger.warning(
                "tor: Get SOCKS port command failed with unrecognized command (You probably should upgrade Tor)"
            )
        else:
            logger.warning("tor: Get SOCKS port command failed; error code %d", reply.code)
        endpoint = parse_endpoint(place, SOCKS_PORT) if place else None
        if endpoint is None or not endpoint.address.is_valid:
            endpoint = parse_endpoint("127.0.0.1", SOCKS_PORT)
        assert endpoint is not None
        logger.debug("Configuring onion proxy for %s", endpoint)
        options = self._context.options
        by_network = {**options.proxies.by_network, Network.ONION: Proxy(endpoint)}
        reachable = options.reachable | ({Network.ONION} if self._tor.may_reach else set())
        proxies = replace(options.proxies, by_network=by_network)
        self._context.options = replace(options, proxies=proxies, reachable=reachable)


class _Ended(PeerError):
    """Tor sends more than it ever should."""


async def _replies(reader: asyncio.StreamReader) -> AsyncIterator[Reply]:
    """Yield replies to commands until the connection ends. Raises _Ended, OSError."""
    lines = ReplyReader()
    while data := await reader.read(_READ_SIZE):
        try:
            for reply in lines.receive(data):
                if reply.code >= ASYNCHRONOUS:
                    logger.debug("Received async notification %d", reply.code)
                else:
                    yield reply
        except PeerError as error:
            raise _Ended(str(error)) from None


def _socks_place(reply: Reply) -> str:
    """Return where Tor's SOCKS port is, rather on this machine than elsewhere; empty if it has none."""
    places = []
    for line in reply.lines:
        if line.startswith(_SOCKS):
            places += [place.strip("\"'") for place in line.removeprefix(_SOCKS).split(" ")]
    local = [place for place in places if place.startswith("127.0.0.1:")]
    return next(iter([*local, *reversed([place for place in places if place])]), "")
