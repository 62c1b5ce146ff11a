"""Our own addresses, as far as we know them.

Owns: the list with its scores, and which address a peer is told. Never: telling it.
Source: Bitcoin Core's src/net.cpp (AddLocal, GetLocal, GetLocalAddrForPeer) and CNetAddr::GetReachabilityFrom.
"""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from clarion.node.net.address import Endpoint, NetAddress, Network
from clarion.node.net.interfaces import interface_addresses
from clarion.node.net.listener import Bind
from clarion.node.net.options import NetOptions
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import Permission

logger = logging.getLogger("clarion.net")


class Origin(IntEnum):
    """How we came to know an address; the higher, the more it is worth."""

    INTERFACE = 1
    BIND = 2
    MAPPED = 3
    MANUAL = 4


@dataclass(slots=True)
class LocalAddress:
    """What is known of one address."""

    port: int
    score: int


class LocalAddresses:
    """The list. Belongs to the network thread once that runs."""

    def __init__(self, options: NetOptions, listen_port: int) -> None:
        """`listen_port` is what peers are told where nothing better is known."""
        self._options = options
        self.listen_port = listen_port
        self._known: dict[NetAddress, LocalAddress] = {}

    def add(self, endpoint: Endpoint, origin: Origin) -> bool:
        """Learn an address of ours; False for one that is of no use to others or not wanted."""
        address = endpoint.address
        if not address.is_routable or (origin < Origin.MANUAL and not self._options.discover):
            return False
        if origin < Origin.MANUAL and address.network not in self._options.reachable:
            return False
        if self._options.log_ips:
            logger.info("AddLocal(%s,%d)", endpoint, origin)
        known = self._known.get(address)
        if known is None:
            self._known[address] = LocalAddress(endpoint.port, int(origin))
        elif origin >= known.score:
            known.score = origin + 1
            known.port = endpoint.port
        return True

    def remove(self, address: NetAddress) -> None:
        """Forget an address that is ours no more."""
        if self._known.pop(address, None) is not None and self._options.log_ips:
            logger.info("RemoveLocal(%s)", address)

    def learn(self, binds: Sequence[Bind]) -> None:
        """Learn what the operator says, and what follows from where we listen."""
        for endpoint in self._options.external:
            self.add(Endpoint(endpoint.address, endpoint.port or self.listen_port), Origin.MANUAL)
        for bind in binds:
            # An address for trusted peers, or for Tor, is not for everybody.
            if not bind.onion and bind.permissions & Permission.NO_BAN != Permission.NO_BAN:
                self.add(bind.endpoint, Origin.BIND)
        if self._options.discover and any(not any(bind.endpoint.address.raw) for bind in binds):
            for address in interface_addresses():
                self.add(Endpoint(address, self.listen_port), Origin.INTERFACE)

    def note_seen(self, address: NetAddress) -> None:
        """Count that a peer reached us at an address."""
        known = self._known.get(address)
        if known is not None:
            known.score += 1

    def __contains__(self, address: NetAddress) -> bool:
        """Whether an address is one of ours."""
        return address in self._known

    def entries(self) -> list[tuple[NetAddress, LocalAddress]]:
        """Return all, in the reference's order of addresses."""
        return sorted(self._known.items(), key=lambda item: item[0].sort_key())

    def told_to(self, peer: Peer) -> Endpoint | None:
        """Return the address that a peer is told as ours, None if there is none that others can reach.

        Now and then that is the one that the peer sees us at: it may know better.
        """
        own = self._best_for(peer)
        seen = peer.seen_as
        if seen is not None and self._is_plausible(peer, seen):
            score = self._known[own.address].score if own is not None and own.address in self._known else 0
            if own is None or secrets.randbelow(8 if score > Origin.MANUAL else 2) == 0:
                # Who connected to us knows our port as well.
                port = seen.port if peer.is_inbound else (self.listen_port if own is None else own.port)
                own = Endpoint(seen.address, port)
        if own is not None:
            logger.debug("Advertising address %s to peer=%d", own, peer.id)
        return own

    def _is_plausible(self, peer: Peer, seen: Endpoint) -> bool:
        routable = peer.endpoint.address.is_routable and seen.address.is_routable
        return self._options.discover and routable and seen.address.network in self._options.reachable

    def _best_for(self, peer: Peer) -> Endpoint | None:
        if not self._options.listen:
            return None
        best: tuple[tuple[int, int], Endpoint] | None = None
        for address, known in self.entries():
            # An address that hides where we are, and one that doesn't, must never be seen together.
            hidden = address.is_private_network or peer.network in (Network.ONION, Network.I2P)
            if address.network is not peer.network and hidden:
                continue
            rank = (reachability(address, peer.endpoint.address), known.score)
            if best is None or rank > best[0]:
                best = rank, Endpoint(address, known.port)
        return None if best is None else best[1]


_UNREACHABLE, _DEFAULT, _TEREDO, _IPV6_WEAK, _IPV4, _IPV6_STRONG, _PRIVATE = range(7)
_BY_PARTNER = {
    "ipv4": {"ipv4": _IPV4},
    "ipv6": {"teredo": _TEREDO, "ipv4": _IPV4, "ipv6": _IPV6_STRONG},
    "onion": {"ipv4": _IPV4, "onion": _PRIVATE},
    "i2p": {"i2p": _PRIVATE},
    "cjdns": {"cjdns": _PRIVATE},
    "teredo": {"teredo": _TEREDO, "ipv6": _IPV6_WEAK, "ipv4": _IPV4},
}
_BY_ANY = {"teredo": _TEREDO, "ipv6": _IPV6_WEAK, "ipv4": _IPV4, "onion": _PRIVATE}


def reachability(own: NetAddress, partner: NetAddress) -> int:
    """Return how well `own` can be reached from `partner`; the higher, the better."""
    if not own.is_routable:
        return _UNREACHABLE
    theirs = _kind(partner)
    rank = _BY_PARTNER.get(theirs, _BY_ANY).get(_kind(own), _DEFAULT)
    return _IPV6_WEAK if rank == _IPV6_STRONG and own.is_tunnelled else rank


def _kind(address: NetAddress) -> str:
    return "teredo" if address.is_teredo else address.public_network.value
