"""Addresses that are built in.

Owns: their encoding. Never: when they are used.
"""

from clarion.node.net.address import MAX_ADDRV2_SIZE, Endpoint, from_v2
from clarion.node.net.reader import Reader


def read_fixed_seeds(reader: Reader) -> list[Endpoint]:
    """Return the endpoints of a network's parameters, each in BIP155's encoding. Raises DecodeError."""
    found = []
    while reader.left:
        address = from_v2(reader.unsigned(1), reader.var_bytes(MAX_ADDRV2_SIZE))
        port = reader.unsigned_big(2)
        if address is not None:
            found.append(Endpoint(address, port))
    return found
