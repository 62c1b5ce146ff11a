"""Connections that we open: those that the operator names, and those that tests ask for.

Owns: the list of added nodes, dialling, and another try with the first transport. Never: choosing strangers.
Belongs to the network thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from clarion.node.net.address import split_host_port
from clarion.node.net.context import NetContext
from clarion.node.net.peer import ConnectionType

RETRY_ADDED_S = 60.0
RETRY_CONNECT_S = 0.5
_PAUSE_S = 0.5

Run = Callable[[asyncio.StreamReader, asyncio.StreamWriter, str, ConnectionType, bool], Awaitable[bool]]

logger = logging.getLogger("clarion.net")


@dataclass(slots=True)
class AddedNode:
    """A node that we keep a connection to. `connected` says whether there is one."""

    name: str
    use_v2: bool
    connected: bool = False


class Connector:
    """Dials."""

    def __init__(self, context: NetContext, run: Run) -> None:
        """`run` serves an open connection to its end and says whether the first transport should be tried."""
        self._context = context
        self._run = run
        options = context.options
        self.added = [AddedNode(name, options.v2_transport) for name in options.add_node]
        self.is_active: Callable[[], bool] = lambda: True
        self.spawn: Callable[[Awaitable[Any]], None] = lambda work: None

    def tasks(self) -> list[Coroutine[Any, Any, None]]:
        """Return the loops that keep connections up."""
        connect = self._context.options.connect or ()
        kept = [AddedNode(name, self._context.options.v2_transport) for name in connect]
        return [self._keep_added(), *[self._keep(node, RETRY_CONNECT_S) for node in kept]]

    def add(self, name: str, use_v2: bool) -> bool:
        """Keep a connection to a node from now on; False if that is so already."""
        if any(node.name == name for node in self.added):
            return False
        self.added.append(AddedNode(name, use_v2))
        return True

    def remove(self, name: str) -> bool:
        """Stop keeping a connection to a node; False if there was no such wish."""
        kept = [node for node in self.added if node.name != name]
        found = len(kept) < len(self.added)
        self.added = kept
        return found

    async def connect(self, name: str, connection_type: ConnectionType, use_v2: bool) -> None:
        """Open one connection and serve it to its end. A failure is only logged."""
        reconnect = await self._try(name, connection_type, use_v2)
        if reconnect:
            logger.debug("retrying with v1 transport protocol for %s", name)
            await self._try(name, connection_type, False)

    async def _try(self, name: str, connection_type: ConnectionType, use_v2: bool) -> bool:
        if not self.is_active():
            return False
        logger.debug("trying %s connection (%s) to %s", "v2" if use_v2 else "v1", connection_type.value, name)
        opened = await self._dial(name)
        return False if opened is None else await self._run(*opened, name, connection_type, use_v2)

    async def _dial(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        parts = split_host_port(name, self._context.params.default_port)
        if parts is None:
            logger.debug("%s is no address", name)
            return None
        try:
            async with asyncio.timeout(self._context.options.timeout_ms / 1000):
                return await asyncio.open_connection(*parts)
        except OSError as error:
            logger.debug("connection to %s failed: %s", name, error)
        except TimeoutError:
            logger.debug("connection attempt to %s timed out", name)
        return None

    async def _keep(self, node: AddedNode, pause_s: float) -> None:
        while True:
            await self.connect(node.name, ConnectionType.MANUAL, node.use_v2)
            await asyncio.sleep(pause_s)

    async def _keep_added(self) -> None:
        """Look after the added nodes, which may change at any time."""
        tried: dict[str, float] = {}
        loop = asyncio.get_running_loop()
        while True:
            for node in self.added:
                if not node.connected and loop.time() >= tried.get(node.name, 0.0):
                    tried[node.name] = loop.time() + RETRY_ADDED_S
                    self.spawn(self._connect_added(node))
            await asyncio.sleep(_PAUSE_S)

    async def _connect_added(self, node: AddedNode) -> None:
        node.connected = True
        try:
            await self.connect(node.name, ConnectionType.MANUAL, node.use_v2)
        finally:
            node.connected = False
