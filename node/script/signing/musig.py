"""MuSig2's signatures of partial ones (BIP327).

Owns: putting partial signatures together where every signer has given his. Never: making nonces and partial signatures,
whose secrets a node would have to keep between two calls.
coincurve's own classes know nothing of MuSig2; hence its raw module.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from coincurve._libsecp256k1 import ffi, lib
from coincurve.context import GLOBAL_CONTEXT

_CONTEXT = GLOBAL_CONTEXT.ctx


class Tweak(NamedTuple):
    """What is added to an aggregate key, as BIP341 does to an x-only key or as BIP32 does."""

    value: bytes
    is_xonly: bool


class _Signer(NamedTuple):
    pubkey: Any
    nonce: Any
    signature: Any


def aggregate_signature(
    participants: Sequence[bytes],
    aggregate: bytes,
    tweaks: Sequence[Tweak],
    digest: bytes,
    nonces: Mapping[bytes, bytes],
    partial_signatures: Mapping[bytes, bytes],
) -> bytes | None:
    """Return the 64-byte signature of a 32-byte hash by an aggregate key with its tweaks.

    Nonces and partial signatures are by participant. None if one is missing or wrong, or the key is not theirs.
    """
    if set(nonces) != set(participants) or set(partial_signatures) != set(participants):
        return None
    signers = [_parse(pubkey, nonces[pubkey], partial_signatures[pubkey]) for pubkey in participants]
    known = [signer for signer in signers if signer is not None]
    cache = None if len(known) < len(signers) else _key_cache(known, aggregate, tweaks)
    if cache is None:
        return None
    nonce = ffi.new("secp256k1_musig_aggnonce *")
    pointers = ffi.new("secp256k1_musig_pubnonce *[]", [signer.nonce for signer in known])
    session = ffi.new("secp256k1_musig_session *")
    if not lib.secp256k1_musig_nonce_agg(_CONTEXT, nonce, pointers, len(known)):
        return None
    if not lib.secp256k1_musig_nonce_process(_CONTEXT, session, nonce, digest, cache):
        return None
    for each in known:
        if not lib.secp256k1_musig_partial_sig_verify(
            _CONTEXT, each.signature, each.nonce, each.pubkey, cache, session
        ):
            return None
    signatures = ffi.new("secp256k1_musig_partial_sig *[]", [signer.signature for signer in known])
    output = ffi.new("unsigned char[64]")
    if not lib.secp256k1_musig_partial_sig_agg(_CONTEXT, output, session, signatures, len(known)):
        return None
    return bytes(ffi.buffer(output))


def _parse(pubkey: bytes, nonce: bytes, signature: bytes) -> _Signer | None:
    signer = _Signer(
        ffi.new("secp256k1_pubkey *"),
        ffi.new("secp256k1_musig_pubnonce *"),
        ffi.new("secp256k1_musig_partial_sig *"),
    )
    good = (
        lib.secp256k1_ec_pubkey_parse(_CONTEXT, signer.pubkey, pubkey, len(pubkey))
        and lib.secp256k1_musig_pubnonce_parse(_CONTEXT, signer.nonce, nonce)
        and lib.secp256k1_musig_partial_sig_parse(_CONTEXT, signer.signature, signature)
    )
    return signer if good else None


def _key_cache(signers: Sequence[_Signer], aggregate: bytes, tweaks: Sequence[Tweak]) -> Any:
    """Return what signatures need of the aggregate key, None if it is not the signers' or a tweak is out of range."""
    cache = ffi.new("secp256k1_musig_keyagg_cache *")
    pointers = ffi.new("secp256k1_pubkey *[]", [signer.pubkey for signer in signers])
    point = ffi.new("secp256k1_pubkey *")
    output, size = ffi.new("unsigned char[33]"), ffi.new("size_t *", 33)
    if not signers or not lib.secp256k1_musig_pubkey_agg(_CONTEXT, ffi.NULL, cache, pointers, len(signers)):
        return None
    lib.secp256k1_musig_pubkey_get(_CONTEXT, point, cache)
    lib.secp256k1_ec_pubkey_serialize(_CONTEXT, output, size, point, lib.SECP256K1_EC_COMPRESSED)
    if bytes(ffi.buffer(output)) != aggregate:
        return None
    for tweak in tweaks:
        add = lib.secp256k1_musig_pubkey_xonly_tweak_add if tweak.is_xonly else lib.secp256k1_musig_pubkey_ec_tweak_add
        if not add(_CONTEXT, ffi.NULL, cache, tweak.value):
            return None
    return cache
