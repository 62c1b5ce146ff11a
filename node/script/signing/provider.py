"""What a signer may know: keys, public keys behind hashes, scripts behind hashes, and how taproot outputs were made.

Owns: the question (`SigningProvider`) and the answer from plain dictionaries. Never: signing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.keys import pubkey_of_secret


class TaprootSpend(NamedTuple):
    """How an output key was made: the x-only internal key, and the root of its script tree, empty for none."""

    internal_key: bytes
    merkle_root: bytes = b""


class SigningProvider(Protocol):
    """What a signer asks. Hashes are the 20 bytes of hash160, of the public key or of the script."""

    def secret(self, key_hash: bytes) -> SecretKey | None:
        """Return the private key whose public key has this hash."""

    def pubkey(self, key_hash: bytes) -> bytes | None:
        """Return the public key that has this hash."""

    def script(self, script_hash: bytes) -> bytes | None:
        """Return the script that has this hash."""

    def taproot(self, output_key: bytes) -> TaprootSpend | None:
        """Return how the x-only output key was made."""


@dataclass(slots=True)
class FlatSigningProvider:
    """Answers from dictionaries: `secrets` and `pubkeys` by key hash, `scripts` by script hash, `taproots` by x-only
    output key."""

    secrets: dict[bytes, SecretKey] = field(default_factory=dict)
    pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    scripts: dict[bytes, bytes] = field(default_factory=dict)
    taproots: dict[bytes, TaprootSpend] = field(default_factory=dict)

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

    def taproot(self, output_key: bytes) -> TaprootSpend | None:
        """Return how the x-only output key was made."""
        return self.taproots.get(output_key)


def secret_of_xonly(provider: SigningProvider, xonly_pubkey: bytes) -> SecretKey | None:
    """Return the private key of a 32-byte key, whichever Y it has."""
    hashes: Iterable[bytes] = (hash160(prefix + xonly_pubkey) for prefix in (b"\x02", b"\x03"))
    return next((key for key in map(provider.secret, hashes) if key is not None), None)
