"""Subnets: a range of addresses of one network.

Owns: their text forms and which addresses they hold. Never: what is done with them.
Source: Bitcoin Core's CSubNet (netaddress.cpp) and LookupSubNet (netbase.cpp).
"""

from dataclasses import dataclass

from clarion.node.net.address import NetAddress, Network, parse_address

_BITS = {Network.IPV4: 32, Network.IPV6: 128}
_SINGLE = frozenset((Network.ONION, Network.I2P, Network.CJDNS))
"""Networks whose addresses are keys: a subnet is one of them."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """The addresses that begin with the first `prefix` bits of `base`, whose other bits are 0."""

    base: NetAddress
    prefix: int

    def __contains__(self, address: NetAddress) -> bool:
        base = self.base
        if address.network is not base.network:
            return False
        if base.network in _SINGLE:
            return address.raw == base.raw
        return _masked(address, self.prefix).raw == base.raw

    def __str__(self) -> str:
        return str(self.base) if self.base.network in _SINGLE else f"{self.base}/{self.prefix}"


def single(address: NetAddress) -> Subnet | None:
    """Return the subnet of one address, None for an address that is in no real network."""
    if address.network in _SINGLE:
        return Subnet(address, 8 * len(address.raw))
    bits = _BITS.get(address.network)
    return None if bits is None else Subnet(NetAddress(address.network, address.raw), bits)


def parse_subnet(text: str) -> Subnet | None:
    """Return the subnet of `address`, `address/bits` or `address/netmask`; None for anything else."""
    host, slash, mask = text.rpartition("/")
    address = parse_address(host if slash else text)
    if address is None:
        return None
    if not slash:
        return single(address)
    bits = _BITS.get(address.network)
    prefix = _prefix(mask, address)
    if bits is None or prefix is None or prefix > bits:
        return None
    return Subnet(_masked(address, prefix), prefix)


def _prefix(mask: str, address: NetAddress) -> int | None:
    """Return how many bits a mask fixes; None unless it is a number or ones followed by zeros."""
    if mask.isascii() and mask.isdigit() and int(mask) <= 0xFF:
        return int(mask)
    netmask = parse_address(mask)
    if netmask is None or netmask.network is not address.network:
        return None
    bits = "".join([f"{byte:08b}" for byte in netmask.raw])
    prefix = len(bits.rstrip("0"))
    return prefix if "0" not in bits[:prefix] else None


def _masked(address: NetAddress, prefix: int) -> NetAddress:
    free = 8 * len(address.raw) - prefix
    value = int.from_bytes(address.raw, "big") >> free << free
    return NetAddress(address.network, value.to_bytes(len(address.raw), "big"))
