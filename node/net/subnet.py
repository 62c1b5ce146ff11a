"""Ranges of addresses: what bans and permissions are given to.

Owns: their forms in text and what they contain. Never: what is done with their members.
Source: Bitcoin Core's CSubNet and LookupSubNet.
"""

from dataclasses import dataclass

from clarion.node.net.address import NetAddress, Network, parse_address, without_brackets

_IP = (Network.IPV4, Network.IPV6)
_MOST_BITS = 0xFF
"""A greater number is no number of bits but a netmask that was written as one number."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """All addresses that share their first `bits` bits; a single one on networks that are not IP."""

    network: NetAddress
    bits: int

    def __contains__(self, address: NetAddress) -> bool:
        """Whether an address is in the range; one that can't be anybody's never is."""
        if not address.is_valid or address.network is not self.network.network:
            return False
        return _masked(address.raw, self.bits) == self.network.raw

    def __str__(self) -> str:
        return f"{self.network}/{self.bits}" if self.network.network in _IP else str(self.network)

    def sort_key(self) -> tuple[tuple[int, bytes], int]:
        """Return the reference's order of ranges."""
        return self.network.sort_key(), self.bits


def subnet_of(address: NetAddress, bits: int | None = None) -> Subnet:
    """Return the range of an address alone, or that of its first `bits` bits."""
    width = 8 * len(address.raw) if bits is None else bits
    return Subnet(NetAddress(address.network, _masked(address.raw, width)), width)


def parse_subnet(text: str) -> Subnet | None:
    """Return the range that `address`, `address/bits` or `address/netmask` says, None for anything else."""
    host, slash, mask = text.rpartition("/") if "/" in text else (text, "", "")
    address = parse_address(without_brackets(host))
    if address is None:
        return None
    if not slash:
        return subnet_of(address)
    bits = _mask_bits(mask, address)
    return None if bits is None or address.network not in _IP else subnet_of(address, bits)


def _masked(raw: bytes, bits: int) -> bytes:
    width = 8 * len(raw)
    return (int.from_bytes(raw, "big") >> (width - bits) << (width - bits)).to_bytes(len(raw), "big")


def _mask_bits(text: str, address: NetAddress) -> int | None:
    """Return how many bits a number or a netmask in the address's own network keeps, None if it is no mask."""
    width = 8 * len(address.raw)
    if text.isascii() and text.isdigit() and int(text) <= _MOST_BITS:
        return int(text) if int(text) <= width else None
    mask = parse_address(without_brackets(text))
    if mask is None or mask.network is not address.network:
        return None
    value = int.from_bytes(mask.raw, "big")
    bits = value.bit_count()
    return bits if value == (1 << width) - (1 << (width - bits)) else None
