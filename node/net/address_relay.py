"""Addresses of other nodes pass between peers.

Owns: addr, addrv2 and getaddr; how many addresses a peer may tell, whom they are passed on to, and telling our own.
Never: where addresses are kept.
Source: Bitcoin Core's net_processing.cpp (ProcessAddrs, RelayAddress, MaybeSendAddr) and CConnman::GetAddresses.
"""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from clarion.node.net.address import Endpoint, Network
from clarion.node.net.address_manager.manager import AddressManager
from clarion.node.net.bans import BanList
from clarion.node.net.clock import MINUTE_US, SECOND_US
from clarion.node.net.context import NetContext
from clarion.node.net.handshake import Handshake
from clarion.node.net.keyed_hash import KeyedHash
from clarion.node.net.local_addresses import LocalAddresses
from clarion.node.net.messages.addresses import Addr, AddrV2, TimedAddress
from clarion.node.net.messages.message import GetAddr
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import MAX_ADDR_TO_SEND, ServiceFlags
from clarion.node.net.rolling_filter import RollingFilter

MAX_PERCENT = 23
"""Most of the known addresses that one answer tells."""
MAX_RATE_PER_SECOND = 0.1
SEND_INTERVAL_US = 30 * SECOND_US
OWN_INTERVAL_US = 24 * 60 * MINUTE_US
ROTATION_S = 24 * 60 * 60
PENALTY_S = 2 * 60 * 60
_FETCH_TIMEOUT_US = 10 * SEND_INTERVAL_US
_CACHE_US = 21 * 60 * MINUTE_US
_CACHE_SPREAD_US = 6 * 60 * MINUTE_US
_MOST_PASSED_ON = 10
"""A message with more addresses answers a question; those are not passed on."""
_EARLIEST = 100_000_000
_FRESH_S = 10 * 60
_UNKNOWN_AGE_S = 5 * 24 * 60 * 60

_RANDOM = random.SystemRandom()

logger = logging.getLogger("clarion.net")


@dataclass(slots=True)
class AddressState:
    """What a peer and we tell each other of other nodes. Times in microseconds, 0 for never."""

    known: RollingFilter | None = None
    """Addresses that the peer knows; None as long as no addresses pass between us."""
    to_send: list[TimedAddress] = field(default_factory=list)
    asked: bool = False
    has_asked: bool = False
    next_send_us: int = 0
    next_own_us: int = 0
    tokens: float = 1.0
    """How many addresses it may tell at the moment."""
    tokens_at_us: int | None = None
    processed: int = 0
    limited: int = 0


class AddressRelay:
    """Belongs to the network thread."""

    def __init__(
        self,
        context: NetContext,
        peers: PeerManager,
        handshake: Handshake,
        addresses: AddressManager,
        own: LocalAddresses,
        bans: BanList,
    ) -> None:
        self._context = context
        self._peers = peers
        self._handshake = handshake
        self._addresses = addresses
        self._own = own
        self._bans = bans
        self._hash = KeyedHash()
        self._answers: dict[int, tuple[int, list[TimedAddress]]] = {}
        """What peers that come in by one way were told, and until when they are told the same."""
        peers.register("addr", self._addr)
        peers.register("addrv2", self._addr_v2)
        peers.register("getaddr", self._get_addr)
        handshake.on_services.append(lambda peer, services: addresses.set_services(peer.endpoint, services))
        handshake.on_version.append(self._version)
        peers.on_disconnected.append(self._ended)
        peers.ticks.append(self._tick)

    # --- connections ------------------------------------------------------------------------------------------------

    def _version(self, peer: Peer) -> None:
        if peer.is_inbound:
            if peer.seen_as is not None and peer.seen_as.address.is_routable:
                self._own.note_seen(peer.seen_as.address)
            return
        if self._begin(peer):
            peer.send(GetAddr())
            state = peer.state(AddressState)
            state.asked = True
            state.tokens += MAX_ADDR_TO_SEND
        # Also for connections that only blocks pass: an address that is never good is soon forgotten.
        self._addresses.good(peer.endpoint)

    def _begin(self, peer: Peer) -> bool:
        """Have addresses pass between the peer and us, unless that would tell others of a connection for blocks."""
        if peer.is_block_only or peer.connection_type is ConnectionType.FEELER:
            return False
        state = peer.state(AddressState)
        if state.known is None:
            state.known = RollingFilter(5000, 0.001)
        return True

    def _ended(self, peer: Peer) -> None:
        if peer.fully_connected and not peer.is_block_only and not peer.is_inbound:
            self._addresses.connected(peer.endpoint)

    # --- what peers say ---------------------------------------------------------------------------------------------

    async def _addr(self, peer: Peer, payload: bytes) -> None:
        self._receive(peer, "addr", Addr.parse(payload).addresses)

    async def _addr_v2(self, peer: Peer, payload: bytes) -> None:
        self._receive(peer, "addrv2", AddrV2.parse(payload).addresses)

    def _receive(self, peer: Peer, command: str, received: Sequence[TimedAddress]) -> None:
        if not self._begin(peer):
            logger.debug("ignoring %s message from %s peer=%d", command, peer.connection_type.value, peer.id)
            return
        if len(received) > MAX_ADDR_TO_SEND:
            peer.misbehaving(f"{command} message size = {len(received)}")
            return
        state = peer.state(AddressState)
        self._fill_tokens(peer, state)
        taken = self._within_rate(peer, state, received)
        limited = len(received) - len(taken)
        passes_on = not state.asked and len(received) <= _MOST_PASSED_ON
        kept = []
        processed = 0
        for each in taken:
            address = self._examined(peer, each)
            if address is None:
                continue
            processed += 1
            reachable = address.endpoint.address.network in self._context.options.reachable
            fresh = address.time > self._context.clock.now() - _FRESH_S
            if fresh and passes_on and address.endpoint.address.is_routable:
                self._pass_on(peer, address, reachable)
            if reachable:
                kept.append(address)
        state.processed += processed
        state.limited += limited
        logger.debug(
            "Received addr: %d addresses (%d processed, %d rate-limited) from peer=%d",
            len(received), processed, limited, peer.id,
        )  # fmt: skip
        self._addresses.add(kept, peer.endpoint.address, PENALTY_S)
        if len(received) < MAX_ADDR_TO_SEND:
            state.asked = False
        # One alone is a node that tells of itself.
        if peer.connection_type is ConnectionType.ADDR_FETCH and len(received) > 1:
            peer.disconnect("addrfetch connection completed")

    def _fill_tokens(self, peer: Peer, state: AddressState) -> None:
        now_us = self._context.clock.now_us()
        since_us = peer.connected_us if state.tokens_at_us is None else state.tokens_at_us
        if state.tokens < MAX_ADDR_TO_SEND:
            gained = max(0, now_us - since_us) / SECOND_US * MAX_RATE_PER_SECOND
            state.tokens = min(state.tokens + gained, MAX_ADDR_TO_SEND)
        state.tokens_at_us = now_us

    def _within_rate(self, peer: Peer, state: AddressState, received: Sequence[TimedAddress]) -> list[TimedAddress]:
        """Return as many addresses as the peer may tell, chosen at random."""
        shuffled = _RANDOM.sample(received, len(received))
        allowed = min(int(state.tokens), len(shuffled))
        state.tokens -= allowed
        return shuffled if peer.may(Permission.ADDR) else shuffled[:allowed]

    def _examined(self, peer: Peer, address: TimedAddress) -> TimedAddress | None:
        """Return an address with a time that can be right, None for one that we don't want."""
        services = address.services
        useful = services & (ServiceFlags.NETWORK | ServiceFlags.NETWORK_LIMITED)
        if not useful and not self._handshake.has_wanted_services(services):
            return None
        now = self._context.clock.now()
        if address.time <= _EARLIEST or address.time > now + _FRESH_S:
            address = replace(address, time=now - _UNKNOWN_AGE_S)
        known = peer.state(AddressState).known
        assert known is not None
        known.add(_key(address.endpoint))
        return None if self._bans.is_unwelcome(address.endpoint.address) else address

    def _pass_on(self, origin: Peer, address: TimedAddress, reachable: bool) -> None:
        """Tell an address to one or two peers, which are the same ones for a day: repeating it spreads it no more."""
        endpoint = address.endpoint
        key = _key(endpoint)
        period = (self._context.clock.now() + self._hash(b"period", key)) // ROTATION_S
        parts = (key, period.to_bytes(9, "little"))
        count = 2 if reachable or self._hash(b"count", *parts) & 1 else 1
        candidates = [
            peer
            for peer in self._peers.peers.values()
            if peer is not origin and peer.state(AddressState).known is not None and _can_carry(peer, endpoint)
        ]
        candidates.sort(key=lambda peer: self._hash(b"order", *parts, peer.id.to_bytes(8, "little")), reverse=True)
        for peer in candidates[:count]:
            self._queue(peer, address)

    async def _get_addr(self, peer: Peer, payload: bytes) -> None:
        # Whoever could ask the nodes that it is connected to could recognise them by what it told them before.
        if not peer.is_inbound:
            logger.debug('Ignoring "getaddr" from %s connection. peer=%d', peer.connection_type.value, peer.id)
            return
        self._begin(peer)
        state = peer.state(AddressState)
        if state.has_asked:
            logger.debug('Ignoring repeated "getaddr". peer=%d', peer.id)
            return
        state.has_asked = True
        state.to_send.clear()
        fresh = peer.may(Permission.ADDR)
        answer = self.sample(MAX_ADDR_TO_SEND, MAX_PERCENT) if fresh else self._answer(peer.network_key)
        for address in answer:
            self._queue(peer, address)

    def sample(self, most: int, percent: int, network: Network | None = None) -> list[TimedAddress]:
        """Return random addresses that are welcome (see AddressManager.sample)."""
        found = self._addresses.sample(most, percent, network)
        return [each for each in found if not self._bans.is_unwelcome(each.endpoint.address)]

    def _answer(self, network_key: int) -> list[TimedAddress]:
        """Return what all peers that come in by the same way are told for a day: no two answers can be compared."""
        now_us = self._context.clock.now_us()
        until_us, answer = self._answers.get(network_key, (0, []))
        if until_us < now_us:
            answer = self.sample(MAX_ADDR_TO_SEND, MAX_PERCENT)
            self._answers[network_key] = (now_us + _CACHE_US + _RANDOM.randrange(_CACHE_SPREAD_US), answer)
        return answer

    # --- what we say ------------------------------------------------------------------------------------------------

    def _queue(self, peer: Peer, address: TimedAddress) -> None:
        state = peer.state(AddressState)
        endpoint = address.endpoint
        assert state.known is not None
        if not endpoint.address.is_valid or _key(endpoint) in state.known or not _can_carry(peer, endpoint):
            return
        if len(state.to_send) >= MAX_ADDR_TO_SEND:
            state.to_send[_RANDOM.randrange(len(state.to_send))] = address
        else:
            state.to_send.append(address)

    def _tick(self, peer: Peer, now_us: int) -> None:
        if peer.connection_type is ConnectionType.ADDR_FETCH and now_us - peer.connected_us > _FETCH_TIMEOUT_US:
            peer.disconnect("addrfetch connection timeout")
            return
        state = peer.state(AddressState)
        if state.known is None:
            return
        if state.next_own_us < now_us and self._context.options.listen and not self._catches_up:
            self._tell_own(peer, state, state.known, now_us)
        if now_us <= state.next_send_us:
            return
        state.next_send_us = now_us + _exponential(SEND_INTERVAL_US)
        told = []
        for address in state.to_send:
            key = _key(address.endpoint)
            if key not in state.known:
                state.known.add(key)
                told.append(address)
        state.to_send.clear()
        if told:
            _send(peer, told)

    @property
    def _catches_up(self) -> bool:
        return self._context.chain.manager.initial_download

    def _tell_own(self, peer: Peer, state: AddressState, known: RollingFilter, now_us: int) -> None:
        """Tell the peer our address: first in a message of its own, later among others."""
        first = state.next_own_us == 0
        if not first:
            # Else the peer would seem to know it.
            known.clear()
        endpoint = self._own.told_to(peer)
        if endpoint is not None:
            own = TimedAddress(self._context.clock.now(), peer.our_services, endpoint)
            if not first:
                self._queue(peer, own)
            elif _can_carry(peer, endpoint):
                _send(peer, [own])
        state.next_own_us = now_us + _exponential(OWN_INTERVAL_US)


def _send(peer: Peer, addresses: Sequence[TimedAddress]) -> None:
    message: Callable[[tuple[TimedAddress, ...]], Addr | AddrV2] = AddrV2 if peer.wants_addrv2 else Addr
    peer.send(message(tuple(addresses)))


def _can_carry(peer: Peer, endpoint: Endpoint) -> bool:
    return peer.wants_addrv2 or endpoint.address.is_v1_compatible


def _key(endpoint: Endpoint) -> bytes:
    return endpoint.address.key + endpoint.port.to_bytes(2, "big")


def _exponential(mean_us: int) -> int:
    return round(_RANDOM.expovariate(1 / mean_us))
