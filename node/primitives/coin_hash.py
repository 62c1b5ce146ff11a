"""A coin as the hashes of the whole set see it.

Owns: the bytes. Never: the set, or its hashes.
"""

import struct

from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.coin import Coin

BOGO_BYTES = 50
"""What `bogosize` counts for an output beside its script."""

_CODE_AND_VALUE = struct.Struct("<Iq")


def coin_bytes(outpoint: bytes, coin: Coin) -> bytes:
    """Return outpoint, height and coinbase flag, value and script, as `hash_serialized_3` and `muhash` take them."""
    return outpoint + _CODE_AND_VALUE.pack(coin.code, coin.value) + var_bytes(coin.script_pubkey)
