"""Connections that we open by our own choice.

Owns: which kind is opened next, to which remembered address, and how often. Never: dialling, who is left.
Source: Bitcoin Core's src/net.cpp (ThreadOpenConnections).
"""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.bad_ports import BAD_PORTS
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.connector import Connector
from clarion.node.net.context import NetContext
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.seeding import Seeding
from clarion.node.net.slots import MAX_OUTBOUND_FULL_RELAY, Limits, Slot, Slots

FEELER_INTERVAL_US = 2 * MINUTE_US
EXTRA_BLOCK_RELAY_INTERVAL_US = 5 * MINUTE_US
EXTRA_NETWORK_INTERVAL_US = 5 * MINUTE_US
_PAUSE_S = 0.5
_FEELER_PAUSE_S = 1.0
_MOST_TRIES = 100
_RECENTLY_TRIED_FROM = 30
"""From so many unfit addresses on, one that was tried in the last minutes will do."""
_BAD_PORTS_FROM = 50
_RECENT_S = 10 * 60
_HIDDEN = (Network.ONION, Network.I2P, Network.CJDNS)

logger = logging.getLogger("clarion.net")


@dataclass(frozen=True, slots=True)
class Wish:
    """A connection to open. `network`: a network that we have no peer on."""

    kind: ConnectionType
    is_anchor: bool = False
    network: Network | None = None


@dataclass(slots=True)
class Situation:
    """The connections that there are, as far as they matter for the next one."""

    full_relay: int = 0
    block_relay: int = 0
    hidden: int = 0
    """On networks whose addresses have no groups that mean anything."""
    groups: set[bytes] = field(default_factory=set)
    """Of addresses of IPv4 and IPv6 that we hold on to: one connection to each group is enough."""


class Outbound:
    """Belongs to the network thread. What `next_*` hold are times in microseconds."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        connector: Connector,
        addresses: AddressManager,
        own: LocalAddresses,
        seeding: Seeding,
        limits: Limits,
        slots: Slots,
        is_added: Callable[[Endpoint], bool],
        has_wanted_services: Callable[[int], bool],
    ) -> None:
        """`is_added`: whether the operator wants a connection to an address; `has_wanted_services` judges services."""
        self._context = context
        self._peers = peers
        self._connector = connector
        self._addresses = addresses
        self._own = own
        self._seeding = seeding
        self._limits = limits
        self._slots = slots
        self._is_added = is_added
        self._has_wanted_services = has_wanted_services
        self.anchors: list[TimedAddress] = []
        """Peers for blocks only from before the restart; they come first."""
        self._try_another = False
        self._extra_block_relay = False
        now_us = context.clock.now_us()
        self._next_feeler_us = now_us + _exponential(FEELER_INTERVAL_US)
        self._next_extra_block_relay_us = now_us + _exponential(EXTRA_BLOCK_RELAY_INTERVAL_US)
        self._next_extra_network_us = now_us + _exponential(EXTRA_NETWORK_INTERVAL_US)

    # --- for those who look after the chain -------------------------------------------------------------------------

    @property
    def tries_another(self) -> bool:
        """Whether one peer more than usual is wanted, as our tip is old."""
        return self._try_another

    def try_another(self, wanted: bool) -> None:
        """Want one full-relay peer more than usual, or not any more."""
        self._try_another = wanted
        logger.debug("setting try another outbound peer=%s", str(wanted).lower())

    def begin_extra_block_relay(self) -> None:
        """Look at one more peer's headers every few minutes from now on: whoever cuts us off can't foresee which."""
        logger.debug("enabling extra block-relay-only peers")
        self._extra_block_relay = True

    def extra_full_relay(self) -> int:
        """Return how many full-relay peers there are more than usual."""
        return max(0, self._ready(ConnectionType.OUTBOUND_FULL_RELAY) - self._limits.full_relay)

    def extra_block_relay(self) -> int:
        """Return how many peers for blocks only there are more than usual."""
        return max(0, self._ready(ConnectionType.BLOCK_RELAY) - self._limits.block_relay)

    def has_several_on(self, network: Network) -> bool:
        """Whether another connection to a network would be left without one of its peers."""
        return self._lasting_on(network) > 1

    def _ready(self, kind: ConnectionType) -> int:
        peers = self._peers.peers.values()
        return sum(peer.connection_type is kind and peer.fully_connected and not peer.leaving for peer in peers)

    def _lasting_on(self, network: Network) -> int:
        lasting = (ConnectionType.MANUAL, ConnectionType.OUTBOUND_FULL_RELAY)
        return sum(
            peer.connection_type in lasting and peer.endpoint.address.public_network is network
            for peer in self._peers.peers.values()
        )

    # --- opening ----------------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Open connections, for ever."""
        while True:
            await self._seeding.fetch_addresses()
            await asyncio.sleep(_PAUSE_S)
            slot = await self._slots.take()
            if not await self._open_next(slot):
                slot.free()

    async def _open_next(self, slot: Slot) -> bool:
        """Open the connection that is missing most; whether that was tried, and `slot` is the connector's business."""
        self._seeding.add_fixed_seeds()
        situation = self._situation()
        self._seeding.note_outbound(situation.full_relay)
        wish = self._next_wish(situation)
        if wish is None:
            return False
        self._addresses.resolve_collisions()
        chosen = self._anchor(situation) if wish.is_anchor else self._choose(wish, situation)
        if chosen is None:
            return False
        if wish.kind is ConnectionType.FEELER:
            # Not at the moment when the interval ends, which others may know.
            await asyncio.sleep(random.uniform(0, _FEELER_PAUSE_S))
            logger.debug("Making feeler connection to %s", chosen.endpoint)
        if wish.network is not None:
            logger.debug("Making network specific connection to %s on %s.", chosen.endpoint, wish.network.value)
        # With less than two connections elsewhere it may be our own network that fails.
        counts = len(situation.groups) + situation.hidden >= min(self._limits.automatic - 1, 2)
        both = chosen.services & self._context.local_services & ServiceFlags.P2P_V2
        await self._connector.open_address(chosen.endpoint, wish.kind, use_v2=bool(both), slot=slot, counts=counts)
        return True

    def _situation(self) -> Situation:
        found = Situation()
        for peer in self._peers.peers.values():
            found.full_relay += peer.connection_type is ConnectionType.OUTBOUND_FULL_RELAY
            found.block_relay += peer.is_block_only
            if not (peer.is_manual or peer.is_automatic_outbound):
                continue
            if peer.endpoint.address.network in _HIDDEN:
                found.hidden += 1
            else:
                found.groups.add(self._context.groups.group_of(peer.endpoint.address))
        return found

    def _next_wish(self, situation: Situation) -> Wish | None:
        """Return what is missing most: anchors, full-relay peers, peers for blocks, or one of the extra ones."""
        limits, now_us = self._limits, self._context.clock.now_us()
        if self.anchors and situation.block_relay < limits.block_relay:
            return Wish(ConnectionType.BLOCK_RELAY, is_anchor=True)
        if situation.full_relay < limits.full_relay:
            return Wish(ConnectionType.OUTBOUND_FULL_RELAY)
        if situation.block_relay < limits.block_relay:
            return Wish(ConnectionType.BLOCK_RELAY)
        if self._try_another:
            return Wish(ConnectionType.OUTBOUND_FULL_RELAY)
        if self._extra_block_relay and now_us > self._next_extra_block_relay_us:
            self._next_extra_block_relay_us = now_us + _exponential(EXTRA_BLOCK_RELAY_INTERVAL_US)
            return Wish(ConnectionType.BLOCK_RELAY)
        if now_us > self._next_feeler_us:
            self._next_feeler_us = now_us + _exponential(FEELER_INTERVAL_US)
            return Wish(ConnectionType.FEELER)
        # With fewer peers than usual, making room for an extra one would cost one that we need.
        usual = situation.full_relay == limits.full_relay == MAX_OUTBOUND_FULL_RELAY
        if usual and now_us > self._next_extra_network_us:
            network = self._missing_network()
            if network is not None:
                self._next_extra_network_us = now_us + _exponential(EXTRA_NETWORK_INTERVAL_US)
                return Wish(ConnectionType.OUTBOUND_FULL_RELAY, network=network)
        return None

    def _missing_network(self) -> Network | None:
        """Return a network that we know nodes of and are connected to none of."""
        missing = [
            network
            for network in self._context.options.reachable
            if not self._lasting_on(network) and self._addresses.size(network)
        ]
        return random.choice(missing) if missing else None

    def _anchor(self, situation: Situation) -> TimedAddress | None:
        while self.anchors:
            anchor = self.anchors.pop()
            address = anchor.endpoint.address
            fits = address.is_valid and address not in self._own and address.network in self._context.options.reachable
            new_group = self._context.groups.group_of(address) not in situation.groups
            if fits and new_group and self._has_wanted_services(anchor.services):
                logger.debug("Trying to make an anchor connection to %s", anchor.endpoint)
                return anchor
        return None

    def _choose(self, wish: Wish, situation: Situation) -> TimedAddress | None:
        for tries in range(1, _MOST_TRIES + 1):
            entry = self._candidate(wish)
            if entry is None or self._is_useless(entry.endpoint.address):
                return None
            if self._fits(entry, wish, situation, tries):
                return entry.shown()
        return None

    def _candidate(self, wish: Wish) -> AddressEntry | None:
        """Return a random address; a feeler tests one that another waits for the place of, or else a new one."""
        networks = self._context.options.reachable
        if wish.kind is not ConnectionType.FEELER:
            return self._addresses.select({wish.network} if wish.network is not None else networks)
        entry = self._addresses.select_to_test()
        if entry is not None:
            if not any(peer.endpoint.address == entry.endpoint.address for peer in self._peers.peers.values()):
                return entry
            # The connection is the test.
            self._addresses.good(entry.endpoint)
        return self._addresses.select(networks, new_only=True)

    def _is_useless(self, address: NetAddress) -> bool:
        return not address.is_valid or address in self._own

    def _fits(self, entry: AddressEntry, wish: Wish, situation: Situation, tries: int) -> bool:
        address, is_feeler = entry.endpoint.address, wish.kind is ConnectionType.FEELER
        if not is_feeler and self._context.groups.group_of(address) in situation.groups:
            return False
        if address.network not in self._context.options.reachable:
            return False
        if self._context.clock.now() - entry.last_try < _RECENT_S and tries < _RECENTLY_TRIED_FROM:
            return False
        full_node = entry.services & (ServiceFlags.NETWORK | ServiceFlags.NETWORK_LIMITED)
        if not (full_node if is_feeler else self._has_wanted_services(entry.services)):
            return False
        clear = address.network in (Network.IPV4, Network.IPV6)
        if tries < _BAD_PORTS_FROM and clear and entry.endpoint.port in BAD_PORTS:
            return False
        if self._is_added(entry.endpoint):
            logger.debug(
                "Not making automatic %s%s connection to %s peer selected for manual (addnode) connection%s",
                "network-specific " if wish.network is not None else "",
                wish.kind.value,
                address.network.value,
                f": {entry.endpoint}" if self._context.options.log_ips else "",
            )
            return False
        return True


def _exponential(mean_us: int) -> int:
    return round(random.expovariate(1 / mean_us))
