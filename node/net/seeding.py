"""First addresses, for a node that knows nobody.

Owns: the order in which named nodes, DNS and built-in addresses are asked, and when that is not needed. Never: how
connections are kept.
Source: Bitcoin Core's src/net.cpp (ThreadDNSAddressSeed, ProcessAddrFetch, fixed seeds in ThreadOpenConnections).
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable

from clarion.node.net.address import Endpoint, Network, internal_address
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.connector import Connector, look_up
from clarion.node.net.context import NetContext
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.net.peer import ConnectionType
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.reader import Reader
from clarion.node.net.seed_addresses import read_fixed_seeds
from clarion.node.net.slots import Slots

SEED_SERVICES = ServiceFlags.NETWORK | ServiceFlags.WITNESS
ENOUGH_OUTBOUND = 2
_NAMES_AT_ONCE = 3
_MANY_ADDRESSES = 1000
_WAIT_WITH_MANY_S = 5 * 60
_WAIT_WITH_FEW_S = 11
_SEED_NODE_PATIENCE_S = 30
_NEXT_SEED_NODE_S = 10
_FIXED_SEEDS_AFTER_S = 60
_MOST_OF_A_NAME = 32
_DAY_S = 24 * 60 * 60

logger = logging.getLogger("clarion.net")


class Seeding:
    """Belongs to the network thread."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        connector: Connector,
        addresses: AddressManager,
        slots: Slots,
        has_added_nodes: Callable[[], bool],
        is_active: Callable[[], bool],
    ) -> None:
        """`has_added_nodes`: whether the operator named nodes; `is_active`: whether there is a network at all."""
        self._context = context
        self._peers = peers
        self._connector = connector
        self._addresses = addresses
        self._slots = slots
        self._has_added_nodes = has_added_nodes
        self._is_active = is_active
        self._to_fetch: deque[str] = deque()
        seeds = context.options.seeds
        self._nodes = random.sample(seeds.nodes, len(seeds.nodes))
        self._next_node_wanted = bool(self._nodes) and addresses.size() == 0
        now = context.clock.now()
        self._node_asked_at = now
        self._started_at = now
        self._add_fixed = seeds.fixed
        if not seeds.fixed:
            logger.info("Fixed seeds are disabled")

    # --- nodes that are asked for addresses -------------------------------------------------------------------------

    async def fetch_addresses(self) -> None:
        """Ask one node for addresses, if there is one to be asked."""
        if self._next_node_wanted and self._nodes:
            self._next_node_wanted = False
            node = self._nodes.pop()
            self._to_fetch.append(node)
            if self._addresses.size() == 0:
                logger.info("Empty addrman, adding seednode (%s) to addrfetch", node)
            else:
                logger.info(
                    "Couldn't connect to peers from addrman after %d seconds. Adding seednode (%s) to addrfetch",
                    _NEXT_SEED_NODE_S,
                    node,
                )
        if not self._to_fetch:
            return
        name = self._to_fetch.popleft()
        slot = await self._slots.take_now()
        if slot is not None:
            use_v2 = self._context.options.v2_transport
            await self._connector.open_name(name, ConnectionType.ADDR_FETCH, use_v2=use_v2, slot=slot)

    def note_outbound(self, full_relay: int) -> None:
        """Take in how many full-relay peers there are: with too few the next named node is asked after a while."""
        now = self._context.clock.now()
        if self._nodes and full_relay < ENOUGH_OUTBOUND and now > self._node_asked_at + _NEXT_SEED_NODE_S:
            self._node_asked_at = now
            self._next_node_wanted = True

    # --- built-in addresses -----------------------------------------------------------------------------------------

    def add_fixed_seeds(self) -> None:
        """Learn the built-in addresses of networks that we know nobody on, once nothing else has helped."""
        empty = self._empty_networks()
        if not self._add_fixed or not empty:
            return
        seeds = self._context.options.seeds
        if self._context.clock.now() > self._started_at + _FIXED_SEEDS_AFTER_S:
            logger.info(
                "Adding fixed seeds as 60 seconds have passed and addrman is empty for at least one reachable network"
            )
        elif not seeds.dns and not seeds.nodes and not self._has_added_nodes():
            logger.info(
                "Adding fixed seeds as -dnsseed=0 (or IPv4/IPv6 connections are disabled via -onlynet) and neither "
                "-addnode nor -seednode are provided"
            )
        else:
            return
        self._add_fixed = False
        found = read_fixed_seeds(Reader(self._context.params.fixed_seeds))
        kept = [self._aged(each, 7, 7) for each in found if each.address.network in empty]
        self._addresses.add(kept, internal_address("fixedseeds"))
        logger.info("Added %d fixed seeds from reachable networks.", len(kept))

    def _empty_networks(self) -> set[Network]:
        return {network for network in self._context.options.reachable if not self._addresses.size(network)}

    def _aged(self, endpoint: Endpoint, least_days: int, spread_days: int) -> TimedAddress:
        """Return an address as if it had been seen some days ago: what peers tell is newer."""
        age = least_days * _DAY_S + random.randrange(spread_days * _DAY_S)
        return TimedAddress(self._context.clock.now() - age, SEED_SERVICES, endpoint)

    # --- names ------------------------------------------------------------------------------------------------------

    async def ask_dns(self) -> None:
        """Learn addresses from DNS, as far as that is needed: whoever runs a name learns that we are here."""
        seeds = self._context.options.seeds
        if not seeds.dns:
            logger.info("DNS seeding disabled")
            return
        ready = await self._wait_for_seed_nodes() if seeds.nodes else 0
        names = list(self._context.params.dns_seeds)
        random.shuffle(names)
        at_once = len(names) if seeds.force_dns or self._addresses.size() == 0 else 0
        if ready >= ENOUGH_OUTBOUND and not at_once:
            logger.info("Skipping DNS seeds. Enough peers have been found")
            return
        found = 0
        for name in names:
            if at_once == 0:
                at_once = _NAMES_AT_ONCE
                if self._addresses.size() and await self._enough_while_waiting():
                    self._log_end(found)
                    return
            await self._wait_until_active()
            found += await self._ask(name)
            at_once -= 1
        logger.info("%d addresses found from DNS seeds", found)

    async def _wait_for_seed_nodes(self) -> int:
        """Give the named nodes some time; return how many full-relay peers there are then."""
        start = self._context.clock.now()
        logger.info(
            "-seednode enabled. Trying the provided seeds for %d seconds before defaulting to the dnsseeds.",
            _SEED_NODE_PATIENCE_S,
        )
        while self._context.clock.now() <= start + _SEED_NODE_PATIENCE_S:
            await asyncio.sleep(0.5)
            ready = self._full_relay()
            if ready >= ENOUGH_OUTBOUND:
                logger.info("P2P peers available. Finished fetching data from seed nodes.")
                return ready
        logger.info("Couldn't connect to enough peers via seed nodes. Handing fetch logic to the DNS seeds.")
        return self._full_relay()

    async def _enough_while_waiting(self) -> bool:
        """Wait before the next names are asked; whether there are enough peers by then."""
        left = _WAIT_WITH_MANY_S if self._addresses.size() >= _MANY_ADDRESSES else _WAIT_WITH_FEW_S
        logger.info("Waiting %d seconds before querying DNS seeds.", left)
        while left > 0:
            pause = min(_WAIT_WITH_FEW_S, left)
            await asyncio.sleep(pause)
            left -= pause
            if self._full_relay() >= ENOUGH_OUTBOUND:
                return True
        return False

    def _log_end(self, found: int) -> None:
        if found:
            logger.info("%d addresses found from DNS seeds", found)
            logger.info("P2P peers available. Finished DNS seeding.")
        else:
            logger.info("P2P peers available. Skipped DNS seeding.")

    async def _wait_until_active(self) -> None:
        if self._is_active():
            return
        logger.info("Waiting for network to be reactivated before querying DNS seeds.")
        while not self._is_active():
            await asyncio.sleep(1)

    async def _ask(self, name: str) -> int:
        """Learn the addresses of a name, or have one of its nodes asked; return how many were found."""
        logger.info("Loading addresses from DNS seed %s", name)
        options = self._context.options
        if options.proxies.for_names is not None:
            self._to_fetch.append(name)
            return 0
        # A name for these services holds only nodes that offer them.
        host = f"x{SEED_SERVICES:x}.{name}"
        addresses = await look_up(host, _MOST_OF_A_NAME) if options.dns else []
        if not addresses:
            self._to_fetch.append(name)
            return 0
        port = self._context.params.default_port
        found = [self._aged(Endpoint(address, port), 3, 4) for address in addresses]
        self._addresses.add(found, internal_address(host))
        return len(found)

    def _full_relay(self) -> int:
        return sum(
            peer.fully_connected and peer.connection_type is ConnectionType.OUTBOUND_FULL_RELAY
            for peer in self._peers.peers.values()
        )
