"""What expanding descriptors tells of keys and scripts.

Owns: the collection that expansion fills. Never: what is made of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.taproot_tree import TapTree

_Value = TypeVar("_Value")


class TapOutput(NamedTuple):
    """How an output key was made: the x-only internal key and the script tree."""

    internal_key: bytes
    tree: TapTree


@dataclass(slots=True)
class Findings:
    """`pubkeys`, `origins` and `secrets` by hash160 of the key, `scripts` by hash160 of the script, `tap_outputs` by
    x-only output key, `participants` of MuSig2 by aggregate key."""

    pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    origins: dict[bytes, KeyOrigin] = field(default_factory=dict)
    scripts: dict[bytes, bytes] = field(default_factory=dict)
    tap_outputs: dict[bytes, TapOutput] = field(default_factory=dict)
    participants: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    secrets: dict[bytes, SecretKey] = field(default_factory=dict)

    def add_key(self, pubkey: bytes, origin: KeyOrigin, prefix: KeyOrigin | None = None) -> None:
        """Learn a key and where it comes from; `prefix` is the origin that stands in front of the key.

        As in the reference, the prefixes of one key that stands twice in an expression are put in front of each other.
        """
        key_hash = hash160(pubkey)
        self.pubkeys.setdefault(key_hash, pubkey)
        known = self.origins.setdefault(key_hash, origin)
        if prefix is not None:
            self.origins[key_hash] = KeyOrigin(prefix.fingerprint, prefix.path + known.path)

    def merge(self, other: "Findings") -> None:
        """Learn what another collection has; what is known already stays."""
        _add_new(self.pubkeys, other.pubkeys)
        _add_new(self.origins, other.origins)
        _add_new(self.participants, other.participants)

    def add_script(self, script: bytes) -> None:
        """Learn the script behind a hash."""
        self.scripts.setdefault(hash160(script), script)

    def origin_of_xonly(self, xonly: bytes) -> KeyOrigin | None:
        """Return where a 32-byte key comes from, whichever Y it has, None if that is not known."""
        hashes: Iterable[bytes] = (hash160(prefix + xonly) for prefix in (b"\x02", b"\x03"))
        return next((self.origins[each] for each in hashes if each in self.origins), None)


def _add_new(into: dict[bytes, _Value], found: Mapping[bytes, _Value]) -> None:
    for key, value in found.items():
        into.setdefault(key, value)
