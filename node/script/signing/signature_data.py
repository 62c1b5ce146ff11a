"""What is known of one input's spend: the signatures and scripts that were found or made, and what they amount to.

Owns: the value that signing, extracting and combining share. Never: making signatures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from clarion.node.primitives.descriptor_findings import TapOutput
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.key_origin import KeyOrigin
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.taproot_tree import TapTree


class KeySignature(NamedTuple):
    """A public key with its ECDSA signature, hash type last."""

    pubkey: bytes
    signature: bytes


class TapDerivation(NamedTuple):
    """Where an x-only key comes from, and the hashes of the leaves that it stands in."""

    leaf_hashes: frozenset[bytes]
    origin: KeyOrigin


Leaf = tuple[bytes, int]
"""A leaf's script and version."""

SignerPlace = tuple[bytes, bytes]
"""A key of 33 bytes that MuSig2's signers sign for, and the hash of the leaf that it stands in, zeros for none."""


@dataclass(slots=True)
class Missing:
    """What was looked for and not found: keys and signatures by hash160, scripts by the hashes that stand for them."""

    pubkeys: list[bytes] = field(default_factory=list)
    signatures: list[bytes] = field(default_factory=list)
    redeem_script: bytes = b""
    witness_script: bytes = b""


@dataclass(slots=True)
class SignatureData:
    """`complete` says that `script_sig` and `witness` are final and valid; `signatures` is by hash160 of the key.

    `has_witness` says that the output is spent by a witness, found or not; `key_path_signature` is taproot's. `origins`
    has public keys with their origins by hash160, what begins with `tap_` speaks of taproot: leaves with their control
    blocks, signatures by x-only key and leaf's hash, derivations by x-only key. `preimages` are by function and hash.
    """

    complete: bool = False
    has_witness: bool = False
    script_sig: bytes = b""
    witness: tuple[bytes, ...] = ()
    redeem_script: bytes = b""
    witness_script: bytes = b""
    key_path_signature: bytes = b""
    signatures: dict[bytes, KeySignature] = field(default_factory=dict)
    origins: dict[bytes, tuple[bytes, KeyOrigin]] = field(default_factory=dict)
    tap_internal_key: bytes = b""
    tap_merkle_root: bytes = b""
    tap_tree: TapTree | None = None
    tap_scripts: dict[Leaf, frozenset[bytes]] = field(default_factory=dict)
    tap_signatures: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    tap_derivations: dict[bytes, TapDerivation] = field(default_factory=dict)
    tap_pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    preimages: dict[Fragment, dict[bytes, bytes]] = field(default_factory=dict)
    participants: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    musig_nonces: Mapping[SignerPlace, Mapping[bytes, bytes]] = field(default_factory=dict)
    musig_partial_signatures: Mapping[SignerPlace, Mapping[bytes, bytes]] = field(default_factory=dict)
    missing: Missing = field(default_factory=Missing)

    def learn_output(self, output: TapOutput) -> None:
        """Take over how a taproot output was made; what is known already stays."""
        self.tap_internal_key = self.tap_internal_key or output.internal_key
        self.tap_merkle_root = self.tap_merkle_root or output.tree.merkle_root
        for leaf, blocks in output.tree.control_blocks(output.internal_key).items():
            self.tap_scripts[leaf] = self.tap_scripts.get(leaf, frozenset()) | blocks
        self.tap_tree = output.tree

    def learn_tap_origin(self, pubkey: bytes, origin: KeyOrigin | None, leaf_hash: bytes | None = None) -> None:
        """Take over where an x-only key comes from, if that is known, and a leaf that it stands in."""
        known = self.tap_derivations.get(pubkey)
        if known is None:
            if origin is None:
                return
            known = TapDerivation(frozenset(), origin)
        if origin is not None and leaf_hash is not None:
            known = TapDerivation(known.leaf_hashes | {leaf_hash}, known.origin)
        self.tap_derivations[pubkey] = known

    def preimage(self, function: Fragment, digest: bytes) -> bytes | None:
        """Return the preimage of a hash by a function, None if it is not known."""
        return self.preimages.get(function, {}).get(digest)

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
