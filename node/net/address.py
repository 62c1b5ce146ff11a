"""Network addresses: where a node can be reached.

Owns: the networks, both wire encodings (the 16 bytes of old and BIP155), text forms, and which addresses are routable.
Never: connecting, remembering.
Source: Bitcoin Core's src/netaddress.{h,cpp}, BIP155.
"""

import base64
import hashlib
import ipaddress
import socket
from dataclasses import dataclass
from enum import Enum

from clarion.node.errors import DecodeError
from clarion.node.primitives.codec import var_bytes


class Network(Enum):
    """A network; the value is its name in options and answers."""

    UNROUTABLE = "not_publicly_routable"
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    ONION = "onion"
    I2P = "i2p"
    CJDNS = "cjdns"
    INTERNAL = "internal"


BIP155_IDS = {Network.IPV4: 1, Network.IPV6: 2, Network.ONION: 4, Network.I2P: 5, Network.CJDNS: 6}
_BY_BIP155_ID = {number: network for network, number in BIP155_IDS.items()}
_LENGTHS = {Network.IPV4: 4, Network.IPV6: 16, Network.ONION: 32, Network.I2P: 32, Network.CJDNS: 16}
_BIP155_NAMES = {1: "IPv4", 2: "IPv6", 4: "TORv3", 5: "I2P", 6: "CJDNS"}
MAX_ADDRV2_SIZE = 512

IPV4_PREFIX = bytes(10) + b"\xff\xff"
TORV2_PREFIX = bytes.fromhex("fd87d87eeb43")
INTERNAL_PREFIX = bytes.fromhex("fd6b88c08724")
"""Names that DNS seeds are remembered under, in the range of private IPv6 addresses."""
CJDNS_PREFIX = 0xFC

_TORV3_VERSION = b"\x03"


def _v4(*texts: str) -> tuple[ipaddress.IPv4Network, ...]:
    return tuple(map(ipaddress.IPv4Network, texts))


def _v6(*texts: str) -> tuple[ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.IPv6Network, texts))


_LOCAL_V4 = _v4("127.0.0.0/8", "0.0.0.0/8")
# RFC 1918, 2544, 3927, 6598, 5737.
_UNROUTABLE_V4 = _LOCAL_V4 + _v4(
    "10.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12", "198.18.0.0/15", "169.254.0.0/16", "100.64.0.0/10",
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",
)  # fmt: skip
_LOCAL_V6 = _v6("::1/128")
# RFC 4862, 4193, 4843, 7343.
_UNROUTABLE_V6 = _LOCAL_V6 + _v6("fe80::/64", "fc00::/7", "2001:10::/28", "2001:20::/28")
_DOCUMENTATION = ipaddress.IPv6Network("2001:db8::/32")
_TRANSLATED = _v6("::ffff:0:0:0/96", "64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")


@dataclass(frozen=True, slots=True, order=False)
class NetAddress:
    """An address without its port. `raw` holds 4, 16 or 32 bytes (10 for a name)."""

    network: Network
    raw: bytes
    scope: str = ""
    """The zone of a link-local IPv6 address; never sent."""

    @property
    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        if self.network is Network.IPV4:
            return ipaddress.IPv4Address(self.raw)
        return ipaddress.IPv6Address(self.raw)

    def _within(self, *ranges: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
        if self.network not in (Network.IPV4, Network.IPV6):
            return False
        ip = self._ip
        return any(ip in part for part in ranges)

    @property
    def is_valid(self) -> bool:
        """Whether it could be anybody's address."""
        if self.network is Network.INTERNAL:
            return False
        if self.network is Network.CJDNS:
            return self.raw[0] == CJDNS_PREFIX
        if self.network is Network.IPV6:
            return any(self.raw) and not self._within(_DOCUMENTATION)
        return self.network is not Network.IPV4 or self.raw not in (bytes(4), b"\xff" * 4)

    @property
    def is_local(self) -> bool:
        """Whether it is a loopback address."""
        return self._within(*_LOCAL_V4, *_LOCAL_V6)

    @property
    def is_routable(self) -> bool:
        """Whether it can be reached from everywhere."""
        return self.is_valid and not self._within(*_UNROUTABLE_V4, *_UNROUTABLE_V6)

    @property
    def public_network(self) -> Network:
        """The network, UNROUTABLE where it is not reachable from everywhere (the reference's GetNetwork)."""
        if self.network is Network.INTERNAL or self.is_routable:
            return self.network
        return Network.UNROUTABLE

    @property
    def linked_ipv4(self) -> bytes | None:
        """The IPv4 address that a tunnelled or translated address stands for, its own for IPv4, else None."""
        if not self.is_routable:
            return None
        if self.network is Network.IPV4:
            return self.raw
        if self._within(*_TRANSLATED):
            return self.raw[12:]
        if self._within(_SIX_TO_FOUR):
            return self.raw[2:6]
        if self._within(_TEREDO):
            return bytes(byte ^ 0xFF for byte in self.raw[12:])
        return None

    @property
    def network_class(self) -> Network:
        """The network that counts for grouping: IPV4 for all that stand for an IPv4 address."""
        if self.network is not Network.INTERNAL and self.linked_ipv4 is not None:
            return Network.IPV4
        return self.public_network

    @property
    def is_v1_compatible(self) -> bool:
        """Whether the old encoding of 16 bytes can carry it."""
        return self.network in (Network.IPV4, Network.IPV6, Network.INTERNAL)

    @property
    def is_teredo(self) -> bool:
        """Whether it is an IPv6 address that a Teredo server gives (RFC 4380)."""
        return self._within(_TEREDO)

    @property
    def is_tunnelled(self) -> bool:
        """Whether it is an IPv6 address that carries an IPv4 address in it (RFC 3964, 6052, 6145)."""
        return self._within(_SIX_TO_FOUR, *_TRANSLATED)

    @property
    def is_private_network(self) -> bool:
        """Whether the network hides where its nodes are."""
        return self.network in (Network.ONION, Network.I2P)

    @property
    def key(self) -> bytes:
        """The bytes that stand for the address in filters and hashes: 16 of the old encoding where that has it."""
        return self.to_v1() if self.is_v1_compatible else self.raw

    def to_v1(self) -> bytes:
        """Return the 16 bytes of the old encoding, zeros for what it can't carry."""
        if self.network is Network.IPV4:
            return IPV4_PREFIX + self.raw
        if self.network is Network.INTERNAL:
            return INTERNAL_PREFIX + self.raw
        return self.raw if self.network is Network.IPV6 else bytes(16)

    def to_v2(self) -> bytes:
        """Return network id and length-prefixed bytes (BIP155)."""
        if self.network is Network.INTERNAL:
            return bytes((BIP155_IDS[Network.IPV6],)) + var_bytes(self.to_v1())
        return bytes((BIP155_IDS[self.network],)) + var_bytes(self.raw)

    def __str__(self) -> str:
        if self.network is Network.ONION:
            text = base64.b32encode(self.raw + _torv3_checksum(self.raw) + _TORV3_VERSION).decode().lower()
            return f"{text}.onion"
        if self.network in (Network.I2P, Network.INTERNAL):
            text = base64.b32encode(self.raw).decode().lower()
            return f"{text.rstrip('=')}.b32.i2p" if self.network is Network.I2P else f"{text}.internal"
        if self.network is Network.IPV4:
            return str(ipaddress.IPv4Address(self.raw))
        return ipv6_text(self.raw) + (f"%{self.scope}" if self.scope else "")

    def sort_key(self) -> tuple[int, bytes]:
        """Return the reference's order of addresses."""
        return list(Network).index(self.network), self.raw


def _torv3_checksum(key: bytes) -> bytes:
    return hashlib.sha3_256(b".onion checksum" + key + _TORV3_VERSION).digest()[:2]


def ipv6_text(raw: bytes) -> str:
    """Return an IPv6 address as RFC 5952 wants it, without its special form for mapped IPv4 addresses."""
    groups = [f"{int.from_bytes(raw[at : at + 2], 'big'):x}" for at in range(0, 16, 2)]
    best_start, best_length, start = 0, 0, 0
    for at, group in enumerate(groups):
        if group != "0":
            start = at + 1
        elif at + 1 - start > best_length:
            best_start, best_length = start, at + 1 - start
    if best_length < 2:
        return ":".join(groups)
    return ":".join(groups[:best_start]) + "::" + ":".join(groups[best_start + best_length :])


UNSPECIFIED = NetAddress(Network.IPV6, bytes(16))
"""No address at all."""


def from_v1(raw: bytes) -> NetAddress:
    """Return the address of 16 bytes in the old encoding; what it can't mean any more is UNSPECIFIED."""
    if raw.startswith(IPV4_PREFIX):
        return NetAddress(Network.IPV4, raw[12:])
    if raw.startswith(INTERNAL_PREFIX):
        return NetAddress(Network.INTERNAL, raw[6:])
    return UNSPECIFIED if raw.startswith(TORV2_PREFIX) else NetAddress(Network.IPV6, raw)


def from_v2(network_id: int, raw: bytes) -> NetAddress | None:
    """Return the address of a BIP155 pair, None for a network that we don't know.

    Raises DecodeError for a wrong length. An IPv6 address that embeds another network's is UNSPECIFIED.
    """
    network = _BY_BIP155_ID.get(network_id)
    if network is None:
        return None
    if len(raw) != _LENGTHS[network]:
        name = _BIP155_NAMES[network_id]
        raise DecodeError(f"BIP155 {name} address with length {len(raw)} (should be {_LENGTHS[network]})")
    if network is Network.IPV6:
        if raw.startswith(INTERNAL_PREFIX):
            return NetAddress(Network.INTERNAL, raw[6:])
        if raw.startswith((IPV4_PREFIX, TORV2_PREFIX)):
            return UNSPECIFIED
    return NetAddress(network, raw)


def as_cjdns(address: NetAddress) -> NetAddress:
    """Return an address of CJDNS's range, which otherwise would be a private IPv6 address, as one of that network."""
    if address.network is Network.IPV6 and address.raw[0] == CJDNS_PREFIX:
        return NetAddress(Network.CJDNS, address.raw)
    return address


def parse_address(text: str) -> NetAddress | None:
    """Return the address that `text` says in numbers or as a .onion or .b32.i2p name, None for anything else.

    Numbers are read as the reference reads them, by getaddrinfo: `127.1` is 127.0.0.1, and a scope must exist here.
    """
    lowered = text.lower()
    if lowered.endswith(".onion"):
        return _parse_onion(lowered.removesuffix(".onion"))
    if lowered.endswith(".b32.i2p"):
        key = _base32(lowered.removesuffix(".b32.i2p"), 52)
        return None if key is None else NetAddress(Network.I2P, key)
    if not text or "\0" in text:
        return None
    try:
        # No name is looked up: this is only how the system reads numbers, short and octal ones of IPv4 among them.
        found = socket.getaddrinfo(text, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return None
    sockaddr = found[0][4]
    host, _, _ = str(sockaddr[0]).partition("%")
    ip = ipaddress.ip_address(host)
    if isinstance(ip, ipaddress.IPv4Address):
        return NetAddress(Network.IPV4, ip.packed)
    address = from_v1(ip.packed)
    if address.network is Network.INTERNAL:
        return None
    scope = sockaddr[3] if len(sockaddr) == 4 else 0
    return NetAddress(address.network, address.raw, str(scope)) if scope else address


def _parse_onion(text: str) -> NetAddress | None:
    decoded = _base32(text, 56)
    if decoded is None:
        return None
    key, checksum, version = decoded[:32], decoded[32:34], decoded[34:]
    if version != _TORV3_VERSION or checksum != _torv3_checksum(key):
        return None
    return NetAddress(Network.ONION, key)


def _base32(text: str, length: int) -> bytes | None:
    if len(text) != length:
        return None
    try:
        return base64.b32decode(text.upper() + "=" * (-length % 8))
    except ValueError:
        return None


def without_brackets(text: str) -> str:
    """Return a host without the pair of brackets that it may stand in."""
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def internal_address(name: str) -> NetAddress:
    """Return the address that a DNS seed's name is remembered under."""
    return NetAddress(Network.INTERNAL, hashlib.sha256(name.encode()).digest()[:10])


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address with its port (the reference's CService)."""

    address: NetAddress
    port: int

    def __str__(self) -> str:
        if self.address.network in (Network.IPV6, Network.CJDNS):
            return f"[{self.address}]:{self.port}"
        return f"{self.address}:{self.port}"

    def to_v1(self) -> bytes:
        """Return 16 bytes and the port, big-endian."""
        return self.address.to_v1() + self.port.to_bytes(2, "big")

    def to_v2(self) -> bytes:
        """Return the BIP155 address and the port, big-endian."""
        return self.address.to_v2() + self.port.to_bytes(2, "big")


NO_ENDPOINT = Endpoint(UNSPECIFIED, 0)


def split_host_port(text: str, default_port: int) -> tuple[str, int] | None:
    """Return (host, port) of `host`, `host:port`, `[host]` or `[host]:port`; None for a port that is none."""
    if text.startswith("[") and "]" in text:
        host, _, rest = text[1:].partition("]")
        if rest and not rest.startswith(":"):
            return None
        port_text = rest[1:] if rest else None
    elif text.count(":") == 1:
        host, _, port_text = text.partition(":")
    else:
        return text, default_port
    if port_text is None:
        return host, default_port
    if not port_text.isascii() or not port_text.isdigit() or len(port_text) > 5 or not 0 < int(port_text) <= 0xFFFF:
        return None
    return host, int(port_text)


def parse_endpoint(text: str, default_port: int) -> Endpoint | None:
    """Return the endpoint that `text` says in numbers (or as an onion or I2P name), None for anything else."""
    parts = split_host_port(text, default_port)
    if parts is None:
        return None
    address = parse_address(parts[0])
    return None if address is None else Endpoint(address, parts[1])
