"""What is known of one input's spend: the signatures and scripts that were found or made, and what they amount to.

Owns: the value that signing, extracting and combining share. Never: making signatures.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from clarion.node.primitives.hashes import hash160


class KeySignature(NamedTuple):
    """A public key with its ECDSA signature, hash type last."""

    pubkey: bytes
    signature: bytes


@dataclass(slots=True)
class SignatureData:
    """`complete` says that `script_sig` and `witness` are final and valid; `signatures` is by hash160 of the key.

    `has_witness` says that the output is spent by a witness, found or not; `key_path_signature` is taproot's.
    """

    complete: bool = False
    has_witness: bool = False
    script_sig: bytes = b""
    witness: tuple[bytes, ...] = ()
    redeem_script: bytes = b""
    witness_script: bytes = b""
    key_path_signature: bytes = b""
    signatures: dict[bytes, KeySignature] = field(default_factory=dict)

    def script(self, script_hash: bytes) -> bytes | None:
        """Return whichever of the two scripts has this hash160."""
        scripts = (self.redeem_script, self.witness_script)
        return next((script for script in scripts if hash160(script) == script_hash), None)

    def merge(self, other: "SignatureData") -> "SignatureData":
        """Return what both together know: the one that is complete, else the scripts and signatures of both."""
        if self.complete or other.complete:
            return self if self.complete else other
        self.redeem_script = self.redeem_script or other.redeem_script
        self.witness_script = self.witness_script or other.witness_script
        self.signatures = other.signatures | self.signatures
        return self
