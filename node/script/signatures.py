"""Signatures over secp256k1: with `signing/private_key` all that touches libsecp256k1's raw interface.

Owns: parsing keys and signatures as consensus accepts them, and verifying. Never: what is signed, or policy.
coincurve's own classes refuse high-S signatures, which consensus accepts, and know no lax DER; hence its raw module.
"""

import threading
from typing import Any, Final

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

from clarion.node.primitives.hashes import hash160, tagged_hash

_CONTEXT = GLOBAL_CONTEXT.ctx
_parse_pubkey = lib.secp256k1_ec_pubkey_parse
_serialize_pubkey = lib.secp256k1_ec_pubkey_serialize
_parse_xonly = lib.secp256k1_xonly_pubkey_parse
_serialize_xonly = lib.secp256k1_xonly_pubkey_serialize
_xonly_tweak_add = lib.secp256k1_xonly_pubkey_tweak_add
_xonly_from_pubkey = lib.secp256k1_xonly_pubkey_from_pubkey
_tweak_add_check = lib.secp256k1_xonly_pubkey_tweak_add_check
_parse_der = lib.secp256k1_ecdsa_signature_parse_der
_parse_compact = lib.secp256k1_ecdsa_signature_parse_compact
_normalize = lib.secp256k1_ecdsa_signature_normalize
_verify_ecdsa = lib.secp256k1_ecdsa_verify
_verify_schnorr = lib.secp256k1_schnorrsig_verify
_PUBKEY_TYPE = ffi.typeof("secp256k1_pubkey *")
_XONLY_TYPE = ffi.typeof("secp256k1_xonly_pubkey *")

_ORDER = bytes.fromhex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
_HALF_ORDER = bytes.fromhex("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0")


class _Scratch(threading.local):
    """Buffers that libsecp256k1 parses into. One set for each thread: shared ones race."""

    def __init__(self) -> None:
        self.pubkey = ffi.new("secp256k1_pubkey *")
        self.xonly = ffi.new("secp256k1_xonly_pubkey *")
        self.signature = ffi.new("secp256k1_ecdsa_signature *")


_scratch = _Scratch()


def verify_ecdsa(signature: bytes, pubkey: bytes, message_hash: bytes) -> bool:
    """Return whether `signature` (DER or what passes for it, without hash type) signs the 32-byte hash.

    Accepts what consensus accepts: compressed, uncompressed and hybrid keys, high S, lax DER.
    """
    scratch = _scratch
    key = scratch.pubkey
    if not _parse_pubkey(_CONTEXT, key, pubkey, len(pubkey)):
        return False
    sig = scratch.signature
    if not _parse_signature(signature, sig):
        return False
    _normalize(_CONTEXT, sig, sig)
    return bool(_verify_ecdsa(_CONTEXT, sig, message_hash, key))


class KnownKeys:
    """Parsed public keys by their bytes, with their hash160. Decompressing a point takes a seventh of a whole check,
    and the same addresses are spent from again and again. Safe from any thread: a parsed point is never changed.
    """

    def __init__(self, capacity: int = 8192) -> None:
        """`capacity` is in keys, of about 400 bytes each."""
        self._capacity = capacity
        self._full: dict[bytes, tuple[bytes, Any]] = {}
        self._xonly: dict[bytes, Any] = {}

    def full(self, pubkey: bytes) -> tuple[bytes, Any] | None:
        """Return (hash160, point) of a key of 33 or 65 bytes, None if it is no point."""
        return self._full.get(pubkey) or self._learn_full(pubkey)

    def xonly(self, pubkey: bytes) -> Any:
        """Return the point of a key of 32 bytes, None if it is none."""
        return self._xonly.get(pubkey) or self._learn_xonly(pubkey)

    def _learn_full(self, pubkey: bytes) -> tuple[bytes, Any] | None:
        point = ffi.new(_PUBKEY_TYPE)
        if not _parse_pubkey(_CONTEXT, point, pubkey, len(pubkey)):
            return None
        if len(self._full) >= self._capacity:
            # Starting over costs little and needs no order to be kept.
            self._full.clear()
        entry = self._full[pubkey] = (hash160(pubkey), point)
        return entry

    def _learn_xonly(self, pubkey: bytes) -> Any:
        point = ffi.new(_XONLY_TYPE)
        if len(pubkey) != 32 or not _parse_xonly(_CONTEXT, point, pubkey):
            return None
        if len(self._xonly) >= self._capacity:
            self._xonly.clear()
        self._xonly[pubkey] = point
        return point


ECDSA: Final = 0
SCHNORR: Final = 1
MULTISIG: Final = 2

PreparedCheck = tuple[int, Any, Any, Any]
"""A signature check with everything looked up but the signature verified: a kind and what it needs.

`(ECDSA, signature without hash type, point, hash)`, `(SCHNORR, signature of 64 bytes, point, hash)`, `(MULTISIG,
signatures without hash type, points, hash of each signature)`; the points are those of `KnownKeys`.
"""


def verify_prepared(check: PreparedCheck, low_s: bool) -> bool:
    """Return whether a check passes: False may mean unknown.

    True implies that ECDSA signatures are strict DER (BIP66) and, with `low_s`, that their S is low. A caller who
    needs to know why it is False asks the other functions.
    """
    kind, signature, point, message_hash = check
    if kind == SCHNORR:
        return bool(_verify_schnorr(_CONTEXT, signature, message_hash, 32, point))
    if kind == ECDSA:
        return _verify_strict(signature, point, message_hash, low_s)
    # Where the signatures fit keys in their order, the interpreter finds such a fit too, though it looks for it from
    # the other end: whoever signs first usually has the first keys.
    points = iter(point)
    for each, digest in zip(signature, message_hash, strict=True):
        for one in points:
            if _verify_strict(each, one, digest, low_s):
                break
        else:
            return False
    return True


def _verify_strict(signature: bytes, point: Any, message_hash: bytes, low_s: bool) -> bool:
    # No look at the signs here: the parser takes a negative number as zero, which never verifies.
    sig = _scratch.signature
    if not _parse_der(_CONTEXT, sig, signature, len(signature)):
        return False
    if _verify_ecdsa(_CONTEXT, sig, message_hash, point):
        return True
    # High S never verifies: only where it was high there is another try.
    return not low_s and bool(_normalize(_CONTEXT, sig, sig) and _verify_ecdsa(_CONTEXT, sig, message_hash, point))


def verify_schnorr(signature: bytes, xonly_pubkey: bytes, message: bytes) -> bool:
    """Return whether the 64-byte BIP340 signature by the 32-byte key signs `message`."""
    if len(signature) != 64 or len(xonly_pubkey) != 32:
        return False
    key = _scratch.xonly
    if not _parse_xonly(_CONTEXT, key, xonly_pubkey):
        return False
    return bool(_verify_schnorr(_CONTEXT, signature, message, len(message), key))


def has_low_s(signature: bytes) -> bool:
    """Return whether S is at most half of the group's order; False for what is no signature at all.

    As in the reference, a number outside the group makes the signature zero, which is low.
    """
    compact = parse_der_lax(signature)
    if compact is None:
        return False
    r, s = compact[:32], compact[32:]
    return s <= _HALF_ORDER or s >= _ORDER or r >= _ORDER


def is_valid_pubkey(pubkey: bytes) -> bool:
    """Return whether the bytes are a point: 33 bytes, or 65 uncompressed or hybrid ones."""
    return len(pubkey) in (33, 65) and bool(_parse_pubkey(_CONTEXT, _scratch.pubkey, pubkey, len(pubkey)))


def is_valid_xonly_pubkey(xonly_pubkey: bytes) -> bool:
    """Return whether the 32 bytes are the X coordinate of a point."""
    return len(xonly_pubkey) == 32 and bool(_parse_xonly(_CONTEXT, _scratch.xonly, xonly_pubkey))


def taproot_tweak(internal_key: bytes, merkle_root: bytes) -> bytes:
    """Return BIP341's 32-byte tweak; `merkle_root` is empty for an output without scripts."""
    return tagged_hash("TapTweak", internal_key + merkle_root)


def check_taproot_tweak(output_key: bytes, internal_key: bytes, merkle_root: bytes, parity: int) -> bool:
    """Return whether the output key (32 bytes, Y's `parity` 0 or 1) commits to the internal key and the root."""
    key = _scratch.xonly
    if not _parse_xonly(_CONTEXT, key, internal_key):
        return False
    tweak = taproot_tweak(internal_key, merkle_root)
    return bool(_tweak_add_check(_CONTEXT, output_key, parity, key, tweak))


def taproot_output_key(internal_key: bytes, merkle_root: bytes = b"") -> tuple[bytes, int] | None:
    """Return (32-byte output key, parity of its Y) of BIP341, None if the internal key is no point."""
    scratch = _scratch
    if len(internal_key) != 32 or not _parse_xonly(_CONTEXT, scratch.xonly, internal_key):
        return None
    if not _xonly_tweak_add(_CONTEXT, scratch.pubkey, scratch.xonly, taproot_tweak(internal_key, merkle_root)):
        return None
    parity = ffi.new("int *")
    output = ffi.new("unsigned char[32]")
    _xonly_from_pubkey(_CONTEXT, scratch.xonly, parity, scratch.pubkey)
    _serialize_xonly(_CONTEXT, output, scratch.xonly)
    return bytes(ffi.buffer(output)), int(parity[0])


def serialize_pubkey(pubkey: bytes, *, compressed: bool) -> bytes | None:
    """Return the key's 33-byte or 65-byte form, None if the bytes are no point."""
    if not is_valid_pubkey(pubkey):
        return None
    size = ffi.new("size_t *", 65)
    output = ffi.new("unsigned char[65]")
    form = lib.SECP256K1_EC_COMPRESSED if compressed else lib.SECP256K1_EC_UNCOMPRESSED
    _serialize_pubkey(_CONTEXT, output, size, _scratch.pubkey, form)
    return bytes(ffi.buffer(output, size[0]))


def _parse_strict(signature: bytes, into: object) -> bool:
    # libsecp256k1's strict parser takes a negative number as zero where the lax one drops the sign, so its word
    # counts only if both are positive; a first length below 0x80 keeps all lengths in one byte.
    return bool(
        _parse_der(_CONTEXT, into, signature, len(signature))
        and signature[1] < 0x80
        and signature[4] < 0x80
        and signature[6 + signature[3]] < 0x80
    )


def _parse_signature(signature: bytes, into: object) -> bool:
    # The strict parser is several times faster than the lax one, and agrees with it on what it accepts.
    if _parse_strict(signature, into):
        return True
    compact = parse_der_lax(signature)
    if compact is None:
        return False
    if not _parse_compact(_CONTEXT, into, compact):
        # A number above the group's order: as in the reference, a signature that parses and never verifies.
        _parse_compact(_CONTEXT, into, bytes(64))
    return True


def parse_der_lax(signature: bytes) -> bytes | None:
    """Return R and S (32 big-endian bytes each) of a signature as blocks before BIP66 may hold it, else None.

    Lengths may be padded, the outer one is not checked, bytes behind S are ignored, numbers have no sign. A number
    of more than 32 bytes makes both zero. The rules are those of libsecp256k1's ecdsa_signature_parse_der_lax.
    """
    size = len(signature)
    if size < 2 or signature[0] != 0x30:
        return None
    outer = signature[1]
    at = 2 + (outer - 0x80 if outer & 0x80 else 0)
    if at > size:
        return None
    r_at = _read_integer(signature, at)
    if r_at is None:
        return None
    s_at = _read_integer(signature, r_at[1])
    if s_at is None:
        return None
    r = signature[r_at[0] : r_at[1]].lstrip(b"\0")
    s = signature[s_at[0] : s_at[1]].lstrip(b"\0")
    if len(r) > 32 or len(s) > 32:
        return bytes(64)
    return r.rjust(32, b"\0") + s.rjust(32, b"\0")


def _read_integer(data: bytes, at: int) -> tuple[int, int] | None:
    # Returns the bounds of the number whose tag stands at `at`.
    size = len(data)
    if at + 2 > size or data[at] != 0x02:
        return None
    length = data[at + 1]
    at += 2
    if length & 0x80:
        length_bytes = length - 0x80
        if length_bytes > size - at:
            return None
        digits = data[at : at + length_bytes]
        at += length_bytes
        if len(digits.lstrip(b"\0")) >= 4:
            return None
        length = int.from_bytes(digits, "big")
    if length > size - at:
        return None
    return at, at + length
