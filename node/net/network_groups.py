"""Which addresses belong together: whoever has one of a group may well have others of it.

Owns: the groups. Never: what their number is limited to.
Source: Bitcoin Core's src/netgroup.cpp.
"""

from clarion.node.net.address import NetAddress, Network

NETWORK_NUMBERS = {
    Network.UNROUTABLE: 0,
    Network.IPV4: 1,
    Network.IPV6: 2,
    Network.ONION: 3,
    Network.I2P: 4,
    Network.CJDNS: 5,
    Network.INTERNAL: 6,
}
"""The reference's numbers of the networks, which go into hashes."""

_HURRICANE_ELECTRIC = bytes.fromhex("20010470")
_PREFIX_BITS = {Network.ONION: 4, Network.I2P: 4, Network.CJDNS: 12, Network.IPV6: 32}


def group_of(address: NetAddress) -> bytes:
    """Return the group: the network's number and the bits that the members share."""
    head = bytes((NETWORK_NUMBERS[address.network_class],))
    if address.network is Network.INTERNAL:
        return head + address.raw
    if not address.is_routable:
        return head
    ipv4 = address.linked_ipv4
    if ipv4 is not None:
        return head + ipv4[:2]
    bits = _PREFIX_BITS[address.network]
    if address.network is Network.IPV6 and address.raw.startswith(_HURRICANE_ELECTRIC):
        # Gives /48 networks to anybody.
        bits = 36
    whole, rest = divmod(bits, 8)
    prefix = address.raw[:whole]
    # The bits behind the prefix are set.
    return head + (prefix + bytes((address.raw[whole] | 0xFF >> rest,)) if rest else prefix)
