"""Numbers of the P2P protocol.

Owns: versions, services, inventory types, names and limits of messages. Never: behaviour.
Source: Bitcoin Core's src/protocol.h and node/protocol_version.h; the BIPs named below.
"""

from enum import IntEnum, IntFlag

PROTOCOL_VERSION = 70016
"""What we speak: everything up to relay by wtxid (BIP339)."""
INIT_PROTO_VERSION = 209
"""What is spoken until the peer has said its version."""
MIN_PEER_PROTO_VERSION = 31800
BIP0031_VERSION = 60000
"""Pings above this version carry a nonce and are answered."""
SENDHEADERS_VERSION = 70012
FEEFILTER_VERSION = 70013
SHORT_IDS_BLOCKS_VERSION = 70014
INVALID_CB_NO_BAN_VERSION = 70015
WTXID_RELAY_VERSION = 70016

MAX_PROTOCOL_MESSAGE_LENGTH = 4 * 1000 * 1000
MAX_SUBVERSION_LENGTH = 256
MAX_INV_SIZE = 50_000
ITEMS_AT_A_TIME = 1_000
"""Other peers have their turn after so many of a message's items."""
MAX_ADDR_TO_SEND = 1_000
MAX_HEADERS_RESULTS = 2_000
MAX_LOCATOR_SIZE = 101
MAX_BLOCKS_IN_TRANSIT_PER_PEER = 16
MAX_GETCFILTERS_SIZE = 1_000
MAX_GETCFHEADERS_SIZE = 2_000
CFCHECKPT_INTERVAL = 1_000
CMPCTBLOCKS_VERSION = 2


class ServiceFlags(IntFlag):
    """What a node offers, as its version and address messages say it."""

    NONE = 0
    NETWORK = 1 << 0
    BLOOM = 1 << 2
    WITNESS = 1 << 3
    COMPACT_FILTERS = 1 << 6
    NETWORK_LIMITED = 1 << 10
    P2P_V2 = 1 << 11


_SERVICE_NAMES = {flag.value: str(flag.name) for flag in ServiceFlags if flag}


def service_names(services: int) -> list[str]:
    """Return the names of the set bits, lowest first; a bit without a name is `UNKNOWN[2^n]`."""
    return [
        _SERVICE_NAMES.get(1 << bit, f"UNKNOWN[2^{bit}]") for bit in range(services.bit_length()) if services >> bit & 1
    ]


MSG_WITNESS_FLAG = 1 << 30
MSG_TYPE_MASK = 0xFFFFFFFF >> 2


class InvType(IntEnum):
    """Kinds of inventory. With the witness flag a peer asks for witnesses too (BIP144)."""

    TX = 1
    BLOCK = 2
    FILTERED_BLOCK = 3
    CMPCT_BLOCK = 4
    WTX = 5
    WITNESS_TX = 1 | MSG_WITNESS_FLAG
    WITNESS_BLOCK = 2 | MSG_WITNESS_FLAG


TX_TYPES = frozenset((InvType.TX, InvType.WTX, InvType.WITNESS_TX))
BLOCK_TYPES = frozenset((InvType.BLOCK, InvType.FILTERED_BLOCK, InvType.CMPCT_BLOCK, InvType.WITNESS_BLOCK))

_INV_NAMES = {
    InvType.TX: "tx",
    InvType.WTX: "wtx",
    InvType.BLOCK: "block",
    InvType.FILTERED_BLOCK: "merkleblock",
    InvType.CMPCT_BLOCK: "cmpctblock",
}


def inv_name(inv_type: int) -> str:
    """Return the name of an inventory type as logs show it, its number in hex if it is unknown."""
    name = _INV_NAMES.get(inv_type & MSG_TYPE_MASK)  # type: ignore[call-overload]
    if name is None:
        return f"0x{inv_type:08x}"
    return f"witness-{name}" if inv_type & MSG_WITNESS_FLAG else str(name)
