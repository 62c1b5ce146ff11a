"""How many connections there may be of each kind.

Owns: the numbers that follow from -maxconnections, and the counting of outbound slots. Never: connections.
Source: Bitcoin Core's src/net.h.
"""

import asyncio
from dataclasses import dataclass

MAX_OUTBOUND_FULL_RELAY = 8
MAX_BLOCK_RELAY_ONLY = 2
MAX_FEELERS = 1
MAX_ADDED = 8
"""Connections to added nodes; they are counted apart from all others."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What -maxconnections leaves for each kind."""

    automatic: int
    full_relay: int
    block_relay: int
    outbound: int
    inbound: int


def limits_of(max_connections: int) -> Limits:
    """Return the shares of the most automatic connections: outbound ones come first."""
    full_relay = min(MAX_OUTBOUND_FULL_RELAY, max_connections)
    block_relay = min(MAX_BLOCK_RELAY_ONLY, max_connections - full_relay)
    outbound = full_relay + block_relay + MAX_FEELERS
    return Limits(max_connections, full_relay, block_relay, outbound, max(0, max_connections - outbound))


class Slot:
    """A slot that is taken until it is given back."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots: asyncio.Semaphore | None = slots

    def free(self) -> None:
        """Give the slot back; again does nothing."""
        if self._slots is not None:
            self._slots.release()
            self._slots = None


class Slots:
    """A number of slots. Belongs to the network thread."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def take(self) -> Slot:
        """Return a slot once there is one."""
        await self._free.acquire()
        return Slot(self._free)

    async def take_now(self) -> Slot | None:
        """Return a slot if one is free."""
        if self._free.locked():
            return None
        await self._free.acquire()
        return Slot(self._free)
