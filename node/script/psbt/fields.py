"""Values that inputs, outputs and the whole have in common: where keys come from, MuSig2's participants, the unknown.

Owns: reading and writing them. Never: in which map they stand.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.keys import is_valid_pubkey
from clarion.node.script.psbt.reader import Reader, broken, pair
from clarion.node.script.signing.signature_data import TapDerivation

PROPRIETARY = 0xFC
NO_HASH = bytes(32)
"""Stands for a hash or key that is not there."""

_COMPRESSED, _FULL = 33, 65


class Proprietary(NamedTuple):
    """The parts of a proprietary key."""

    identifier: bytes
    subtype: int


def read_origin(reader: Reader, size: int) -> KeyOrigin:
    """Return the fingerprint and path in the next `size` bytes."""
    if size % 4 or size == 0:
        raise broken("Invalid length for HD key path")
    fingerprint = reader.take(4)
    return KeyOrigin(fingerprint, tuple([reader.number() for _ in range(size // 4 - 1)]))


def write_origin(origin: KeyOrigin) -> bytes:
    """Return the bytes of fingerprint and path."""
    return origin.fingerprint + b"".join([step.to_bytes(4, "little") for step in origin.path])


def read_pubkey(key: bytes, what: str) -> bytes:
    """Return the public key behind a key's type; `what` names the type."""
    if len(key) not in (_COMPRESSED + 1, _FULL + 1):
        raise broken(f"Size of key was not the expected size for the type {what}")
    if not is_valid_pubkey(key[1:]):
        raise broken("Invalid pubkey")
    return key[1:]


def read_tap_derivation(reader: Reader, side: str) -> TapDerivation:
    """Return leaf hashes and origin; `side` names the map in errors."""
    size = reader.compact_size()
    start = reader.at
    hashes = frozenset([reader.take(32) for _ in range(reader.compact_size())])
    used = reader.at - start
    if used > size:
        raise broken(f"{side} Taproot BIP32 keypath has an invalid length")
    return TapDerivation(hashes, read_origin(reader, size - used))


def write_tap_derivation(derivation: TapDerivation) -> bytes:
    """Return the value's bytes."""
    hashes = sorted(derivation.leaf_hashes)
    return compact_size(len(hashes)) + b"".join(hashes) + write_origin(derivation.origin)


def read_participants(reader: Reader, aggregate: bytes, side: str) -> tuple[bytes, ...]:
    """Return the keys that make up an aggregate key, in their order; `side` names the map in errors."""
    if not is_valid_pubkey(aggregate):
        raise broken(f"{side} musig2 aggregate pubkey is invalid")
    value = Reader(reader.var_bytes())
    found = []
    while len(value.data) - value.at >= _COMPRESSED:
        found.append(value.take(_COMPRESSED))
        if not is_valid_pubkey(found[-1]):
            raise broken(f"{side} musig2 participant pubkey is invalid")
    if not value.is_at_end:
        raise broken(f"{side} musig2 participants pubkeys value size is not a multiple of 33")
    return tuple(found)


def split_proprietary(key: bytes) -> Proprietary:
    """Return the parts of a proprietary key. Raises PsbtError."""
    reader = Reader(key)
    reader.compact_size()
    return Proprietary(reader.var_bytes(), reader.compact_size())


def write_raw(values: Mapping[bytes, bytes]) -> bytes:
    """Return keys with their types and values as they are, in the keys' order."""
    return b"".join([var_bytes(key) + var_bytes(values[key]) for key in sorted(values)])


def derivation_pairs(kind: int, derivations: Mapping[bytes, KeyOrigin]) -> Iterator[bytes]:
    """Yield where public keys come from."""
    for pubkey in sorted(derivations):
        yield pair(kind, write_origin(derivations[pubkey]), pubkey)


def tap_derivation_pairs(kind: int, derivations: Mapping[bytes, TapDerivation]) -> Iterator[bytes]:
    """Yield where x-only keys come from."""
    for pubkey in sorted(derivations):
        yield pair(kind, write_tap_derivation(derivations[pubkey]), pubkey)


def participant_pairs(kind: int, participants: Mapping[bytes, tuple[bytes, ...]]) -> Iterator[bytes]:
    """Yield the participants of aggregate keys."""
    for aggregate in sorted(participants):
        yield pair(kind, b"".join(participants[aggregate]), aggregate)
