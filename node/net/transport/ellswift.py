"""Key exchange of BIP324: keys that look like random bytes (ElligatorSwift), and the secret that two of them share.

Owns: the calls of libsecp256k1's ellswift module. Never: ciphers.
Source: BIP324. The raw module is coincurve's, as in `node.script.signatures`.
"""

import secrets

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

ELLSWIFT_SIZE = 64

_CONTEXT = GLOBAL_CONTEXT.ctx


def make_private_key() -> bytes:
    """Return a random private key."""
    while True:
        key = secrets.token_bytes(32)
        if lib.secp256k1_ec_seckey_verify(_CONTEXT, key):
            return key


def make_public_key(private_key: bytes, entropy: bytes) -> bytes:
    """Return one of the many 64-byte encodings of the public key; `entropy` (32 bytes) chooses it."""
    encoded = ffi.new("unsigned char[64]")
    if not lib.secp256k1_ellswift_create(_CONTEXT, encoded, private_key, entropy):
        raise AssertionError("the private key is out of range")
    return bytes(ffi.buffer(encoded))


def decode(encoded: bytes) -> bytes:
    """Return the compressed public key of any 64 bytes: none fail to decode."""
    pubkey = ffi.new("secp256k1_pubkey *")
    lib.secp256k1_ellswift_decode(_CONTEXT, pubkey, encoded)
    size = ffi.new("size_t *", 33)
    out = ffi.new("unsigned char[33]")
    lib.secp256k1_ec_pubkey_serialize(_CONTEXT, out, size, pubkey, lib.SECP256K1_EC_COMPRESSED)
    return bytes(ffi.buffer(out))


def shared_secret(private_key: bytes, ours: bytes, theirs: bytes, initiating: bool) -> bytes:
    """Return the 32-byte secret of two encoded keys, the same on both sides (BIP324's `v2_ecdh`)."""
    secret = ffi.new("unsigned char[32]")
    first, second = (ours, theirs) if initiating else (theirs, ours)
    if not lib.secp256k1_ellswift_xdh(
        _CONTEXT,
        secret,
        first,
        second,
        private_key,
        0 if initiating else 1,
        lib.secp256k1_ellswift_xdh_hash_function_bip324,
        ffi.NULL,
    ):
        raise AssertionError("the private key is out of range")
    return bytes(ffi.buffer(secret))
