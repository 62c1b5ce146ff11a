"""The numbers of JSON-RPC errors, as in Bitcoin Core's protocol.h.

Owns: the codes. Never: messages.
"""

from enum import IntEnum


class RpcCode(IntEnum):
    """Error codes that clients compare with. -32600 becomes HTTP 400, -32601 becomes 404, all others 500."""

    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    PARSE_ERROR = -32700

    MISC_ERROR = -1
    TYPE_ERROR = -3
    INVALID_ADDRESS_OR_KEY = -5
    OUT_OF_MEMORY = -7
    INVALID_PARAMETER = -8
    CLIENT_NOT_CONNECTED = -9
    CLIENT_IN_INITIAL_DOWNLOAD = -10
    DATABASE_ERROR = -20
    DESERIALIZATION_ERROR = -22
    CLIENT_NODE_ALREADY_ADDED = -23
    CLIENT_NODE_NOT_ADDED = -24
    VERIFY_ERROR = -25
    VERIFY_REJECTED = -26
    VERIFY_ALREADY_IN_UTXO_SET = -27
    IN_WARMUP = -28
    CLIENT_NODE_NOT_CONNECTED = -29
    CLIENT_INVALID_IP_OR_SUBNET = -30
    CLIENT_P2P_DISABLED = -31
    METHOD_DEPRECATED = -32
    CLIENT_MEMPOOL_DISABLED = -33
