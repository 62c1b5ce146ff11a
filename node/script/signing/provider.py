"""What a signer may know: keys, public keys behind hashes, scripts behind hashes, and how taproot outputs were made.

Owns: the question (`SigningProvider`) and the answer from plain dictionaries. Never: signing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.descriptor_findings import Findings, TapOutput
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.keys import pubkey_of_secret


class SigningProvider(Protocol):
    """What a signer asks. Hashes are the 20 bytes of hash160, of the public key or of the script."""

    def secret(self, key_hash: bytes) -> SecretKey | None:
        """Return the private key whose public key has this hash."""

    def pubkey(self, key_hash: bytes) -> bytes | None:
        """Return the public key that has this hash."""

    def script(self, script_hash: bytes) -> bytes | None:
        """Return the script that has this hash."""

    def taproot(self, output_key: bytes) -> TapOutput | None:
        """Return how the x-only output key was made."""

    def origin(self, key_hash: bytes) -> KeyOrigin | None:
        """Return where the public key that has this hash comes from."""

    def participants(self) -> Mapping[bytes, tuple[bytes, ...]]:
        """Return the participants of all MuSig2 aggregate keys that are known."""


@dataclass(slots=True)
class FlatSigningProvider:
    """Answers from dictionaries: `secrets`, `pubkeys` and `origins` by key hash, `scripts` by script hash, `taproots` by
    x-only output key, `aggregates` by aggregate key."""

    secrets: dict[bytes, SecretKey] = field(default_factory=dict)
    pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    scripts: dict[bytes, bytes] = field(default_factory=dict)
    taproots: dict[bytes, TapOutput] = field(default_factory=dict)
    origins: dict[bytes, KeyOrigin] = field(default_factory=dict)
    aggregates: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)

    @classmethod
    def of_findings(cls, findings: Findings, *, secrets: bool = True, origins: bool = True) -> "FlatSigningProvider":
        """Return what descriptors told, with or without private keys and origins. The dictionaries are shared."""
        return cls(
            findings.secrets if secrets else {},
            findings.pubkeys,
            findings.scripts,
            findings.tap_outputs,
            findings.origins if origins else {},
            findings.participants,
        )

    def add_secret(self, key: SecretKey) -> None:
        """Learn a private key with its public key."""
        pubkey = pubkey_of_secret(key.secret, key.compressed)
        key_hash = hash160(pubkey)
        self.secrets.setdefault(key_hash, key)
        self.pubkeys.setdefault(key_hash, pubkey)

    def add_script(self, script: bytes) -> None:
        """Learn the script behind a hash."""
        self.scripts.setdefault(hash160(script), script)

    def secret(self, key_hash: bytes) -> SecretKey | None:
        """Return the private key whose public key has this hash."""
        return self.secrets.get(key_hash)

    def pubkey(self, key_hash: bytes) -> bytes | None:
        """Return the public key that has this hash."""
        return self.pubkeys.get(key_hash)

    def script(self, script_hash: bytes) -> bytes | None:
        """Return the script that has this hash."""
        return self.scripts.get(script_hash)

    def taproot(self, output_key: bytes) -> TapOutput | None:
        """Return how the x-only output key was made."""
        return self.taproots.get(output_key)

    def origin(self, key_hash: bytes) -> KeyOrigin | None:
        """Return where the public key that has this hash comes from."""
        return self.origins.get(key_hash)

    def participants(self) -> Mapping[bytes, tuple[bytes, ...]]:
        """Return the participants of all MuSig2 aggregate keys that are known."""
        return self.aggregates


def secret_of_xonly(provider: SigningProvider, xonly_pubkey: bytes) -> SecretKey | None:
    """Return the private key of a 32-byte key, whichever Y it has."""
    return next((key for key in map(provider.secret, _hashes_of(xonly_pubkey)) if key is not None), None)


def origin_of_xonly(provider: SigningProvider, xonly_pubkey: bytes) -> KeyOrigin | None:
    """Return where a 32-byte key comes from, whichever Y it has."""
    return next((origin for origin in map(provider.origin, _hashes_of(xonly_pubkey)) if origin is not None), None)


def _hashes_of(xonly_pubkey: bytes) -> tuple[bytes, bytes]:
    return hash160(b"\x02" + xonly_pubkey), hash160(b"\x03" + xonly_pubkey)
