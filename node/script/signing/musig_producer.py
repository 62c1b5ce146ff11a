"""Finds out whether a key of a taproot output is MuSig2's, and puts its signature together.

Owns: which aggregate key a key comes from, and by which tweaks (BIP328, BIP373). Never: the signature itself.
"""

from typing import NamedTuple

from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.keys import taproot_output_point
from clarion.node.primitives.musig import synthetic_extended_key
from clarion.node.script.signatures import taproot_tweak
from clarion.node.script.signing.creator import Creator
from clarion.node.script.signing.musig import Tweak, aggregate_signature
from clarion.node.script.signing.provider import SigningProvider
from clarion.node.script.signing.signature_data import SignatureData

_NO_LEAF = bytes(32)


class _Derived(NamedTuple):
    """A public key of 33 bytes with what made it of an aggregate key."""

    pubkey: bytes
    tweaks: list[Tweak]


def sign_musig(
    provider: SigningProvider,
    creator: Creator,
    data: SignatureData,
    xonly_pubkey: bytes,
    merkle_root: bytes | None = None,
    leaf_hash: bytes | None = None,
) -> bytes | None:
    """Return the signature by a key that is an aggregate one if all partial signatures are there, else None.

    `merkle_root` and `leaf_hash` are as a creator's. Where participants come from is added to `data`.
    """
    signature = None
    for aggregate, participants in sorted(data.participants.items()):
        for pubkey in participants:
            data.learn_tap_origin(pubkey[1:], provider.origin(hash160(pubkey)), leaf_hash)
        derived = _derive(data, aggregate, xonly_pubkey)
        digest = creator.digest(leaf_hash)
        if not participants or derived is None or digest is None:
            continue
        pubkey, tweaks = derived
        if merkle_root is not None:
            tweaks.append(Tweak(taproot_tweak(xonly_pubkey, merkle_root), is_xonly=True))
            pubkey = taproot_output_point(xonly_pubkey, merkle_root)
        place = (pubkey, leaf_hash or _NO_LEAF)
        nonces, partial = data.musig_nonces.get(place, {}), data.musig_partial_signatures.get(place, {})
        made = aggregate_signature(participants, aggregate, tweaks, digest, nonces, partial)
        if made is not None:
            signature = made + creator.hash_type_suffix
    return signature


def _derive(data: SignatureData, aggregate: bytes, xonly_pubkey: bytes) -> _Derived | None:
    """Return how a key comes from an aggregate one, None if it does not, or nobody says so."""
    if aggregate[1:] == xonly_pubkey:
        return _Derived(aggregate, [])
    known = data.tap_derivations.get(xonly_pubkey)
    if known is None or not known.origin.path or known.origin.fingerprint != hash160(aggregate)[:4]:
        return None
    key = synthetic_extended_key(aggregate)
    tweaks = []
    for step in known.origin.path:
        child = key.derive(step)
        if child is None:
            return None
        tweaks.append(Tweak(key.tweak(step), is_xonly=False))
        key = child
    return _Derived(key.pubkey, tweaks) if key.pubkey[1:] == xonly_pubkey else None
