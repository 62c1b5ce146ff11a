"""What a private key makes of a hash: ECDSA, Schnorr and recoverable signatures, byte for byte the reference's.

Owns: nonces by RFC6979 and BIP340, and the search for a small R. Never: what is signed, or which key signs.
coincurve's own classes know neither the extra entropy that the search needs nor keys that are tweaked in place; hence
its raw module, as in `signatures`.
"""

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

from clarion.node.script.signatures import taproot_tweak

_CONTEXT = GLOBAL_CONTEXT.ctx
_NO_AUXILIARY_RANDOMNESS = bytes(32)
_RECOVERY_HEADER = 27
_COMPRESSED_BIT = 4


def sign_ecdsa(secret: bytes, message_hash: bytes) -> bytes:
    """Return the signature of a 32-byte hash in DER, without hash type.

    R is below 2^255, so that it takes no padding byte: the reference counts nonces up until it is. Raises ValueError
    if the secret is out of range.
    """
    signature = ffi.new("secp256k1_ecdsa_signature *")
    compact = ffi.new("unsigned char[64]")
    entropy = ffi.NULL
    counter = 0
    while True:
        if not lib.secp256k1_ecdsa_sign(_CONTEXT, signature, message_hash, secret, ffi.NULL, entropy):
            raise ValueError("a secret out of range")
        lib.secp256k1_ecdsa_signature_serialize_compact(_CONTEXT, compact, signature)
        if compact[0] < 0x80:
            break
        counter += 1
        entropy = counter.to_bytes(32, "little")
    der = ffi.new("unsigned char[72]")
    size = ffi.new("size_t *", 72)
    lib.secp256k1_ecdsa_signature_serialize_der(_CONTEXT, der, size, signature)
    return bytes(ffi.buffer(der, size[0]))


def sign_schnorr(secret: bytes, message_hash: bytes, merkle_root: bytes | None = None) -> bytes:
    """Return the 64-byte BIP340 signature of a 32-byte hash, made without auxiliary randomness.

    With `merkle_root`, 32 bytes or empty for an output without scripts, the key is tweaked first as BIP341 makes an
    output key of an internal key. Raises ValueError if the secret is out of range.
    """
    pair = ffi.new("secp256k1_keypair *")
    if not lib.secp256k1_keypair_create(_CONTEXT, pair, secret):
        raise ValueError("a secret out of range")
    if merkle_root is not None:
        tweak = taproot_tweak(_xonly_pubkey(pair), merkle_root)
        if not lib.secp256k1_keypair_xonly_tweak_add(_CONTEXT, pair, tweak):
            raise ValueError("a tweak out of range")
    signature = ffi.new("unsigned char[64]")
    lib.secp256k1_schnorrsig_sign32(_CONTEXT, signature, message_hash, pair, _NO_AUXILIARY_RANDOMNESS)
    return bytes(ffi.buffer(signature))


def _xonly_pubkey(pair: object) -> bytes:
    point = ffi.new("secp256k1_xonly_pubkey *")
    lib.secp256k1_keypair_xonly_pub(_CONTEXT, point, ffi.NULL, pair)
    output = ffi.new("unsigned char[32]")
    lib.secp256k1_xonly_pubkey_serialize(_CONTEXT, output, point)
    return bytes(ffi.buffer(output))


def sign_recoverable(secret: bytes, message_hash: bytes, *, compressed: bool) -> bytes:
    """Return the 65-byte signature of which the public key can be recovered: a header, R and S.

    `compressed` is told in the header. Raises ValueError if the secret is out of range.
    """
    signature = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    if not lib.secp256k1_ecdsa_sign_recoverable(_CONTEXT, signature, message_hash, secret, ffi.NULL, ffi.NULL):
        raise ValueError("a secret out of range")
    output = ffi.new("unsigned char[64]")
    recovery_id = ffi.new("int *")
    lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(_CONTEXT, output, recovery_id, signature)
    header = _RECOVERY_HEADER + recovery_id[0] + (_COMPRESSED_BIT if compressed else 0)
    return bytes((header,)) + bytes(ffi.buffer(output))


def recover_pubkey(signature: bytes, message_hash: bytes) -> bytes | None:
    """Return the public key, 33 or 65 bytes as the header says, that made a recoverable signature; None if none did."""
    if len(signature) != 65:
        return None
    header = signature[0] - _RECOVERY_HEADER
    parsed = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    if not lib.secp256k1_ecdsa_recoverable_signature_parse_compact(_CONTEXT, parsed, signature[1:], header & 3):
        return None
    point = ffi.new("secp256k1_pubkey *")
    if not lib.secp256k1_ecdsa_recover(_CONTEXT, point, parsed, message_hash):
        return None
    form = lib.SECP256K1_EC_COMPRESSED if header & _COMPRESSED_BIT else lib.SECP256K1_EC_UNCOMPRESSED
    output = ffi.new("unsigned char[65]")
    size = ffi.new("size_t *", 65)
    lib.secp256k1_ec_pubkey_serialize(_CONTEXT, output, size, point, form)
    return bytes(ffi.buffer(output, size[0]))
