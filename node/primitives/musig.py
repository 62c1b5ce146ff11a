"""MuSig2's aggregate keys (BIP327), and the extended keys that stand for them (BIP328).

Owns: aggregation. Never: nonces and signatures.
coincurve's own classes know nothing of MuSig2; hence its raw module.
"""

from collections.abc import Sequence

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

from clarion.node.primitives.bip32 import ExtendedKey

_CONTEXT = GLOBAL_CONTEXT.ctx
_CHAIN_CODE = bytes.fromhex("868087ca02a6f974c4598924c36b57762d32cb45717167e300622c7167e38965")
_KEY_SIZE = 33


def aggregate_pubkeys(pubkeys: Sequence[bytes]) -> bytes | None:
    """Return the aggregate key, 33 bytes, of public keys in their order; None if they are no keys or make none."""
    points = []
    for pubkey in pubkeys:
        points.append(ffi.new("secp256k1_pubkey *"))
        if not lib.secp256k1_ec_pubkey_parse(_CONTEXT, points[-1], pubkey, len(pubkey)):
            return None
    cache = ffi.new("secp256k1_musig_keyagg_cache *")
    pointers = ffi.new("secp256k1_pubkey *[]", points)
    aggregate = ffi.new("secp256k1_pubkey *")
    if not points or not lib.secp256k1_musig_pubkey_agg(_CONTEXT, ffi.NULL, cache, pointers, len(points)):
        return None
    lib.secp256k1_musig_pubkey_get(_CONTEXT, aggregate, cache)
    output = ffi.new("unsigned char[]", _KEY_SIZE)
    size = ffi.new("size_t *", _KEY_SIZE)
    lib.secp256k1_ec_pubkey_serialize(_CONTEXT, output, size, aggregate, lib.SECP256K1_EC_COMPRESSED)
    return bytes(ffi.buffer(output, size[0]))


def synthetic_extended_key(aggregate: bytes) -> ExtendedKey:
    """Return the extended key below which keys are derived of an aggregate one."""
    return ExtendedKey(0, bytes(4), 0, _CHAIN_CODE, aggregate)
