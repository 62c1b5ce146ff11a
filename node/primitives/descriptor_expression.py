"""Script expressions of descriptors: their texts, and the scripts that they stand for at an index.

Owns: one shape for all functions, and what makes their scripts. Never: parsing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clarion.node.primitives.descriptor_findings import Findings, TapOutput
from clarion.node.primitives.descriptor_key import Key
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.keys import taproot_output_key
from clarion.node.primitives.miniscript.node import Node
from clarion.node.primitives.miniscript.writing import to_script
from clarion.node.primitives.opcodes import OP_CHECKSIG, OP_CHECKSIGADD, OP_NUMEQUAL
from clarion.node.primitives.script import (
    multisig_script,
    p2pk_script,
    p2pkh_script,
    p2sh_script,
    push_data,
    push_number,
    witness_script,
)
from clarion.node.primitives.taproot_tree import TAPSCRIPT_VERSION, TapLeaf, build_tap_tree

Maker = Callable[[Sequence[bytes], Sequence[bytes], Findings], list[bytes]]
"""Makes an expression's scripts of the keys' bytes and the scripts inside."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One function: `name(argument,keys…,subs…)`, as far as it has them. `solvable` says that it tells how to spend.

    `text` writes an expression that is no plain function: a miniscript, or a tree of leaves.
    """

    name: str
    make: Maker
    argument: str = ""
    keys: tuple[Key, ...] = ()
    subs: tuple["Expression", ...] = ()
    solvable: bool = True
    text: Callable[["Expression"], str] | None = None

    @property
    def is_range(self) -> bool:
        """Whether it stands for scripts at every index."""
        return any(key.is_range for key in self.keys) or any(sub.is_range for sub in self.subs)

    @property
    def has_private_keys(self) -> bool:
        """Whether a private key stands in it."""
        return any(key.has_private_keys for key in self.keys) or any(sub.has_private_keys for sub in self.subs)

    def __str__(self) -> str:
        """Return the canonical form with public keys only and no checksum."""
        if self.text is not None:
            return self.text(self)
        parts = [self.argument] if self.argument else []
        parts += map(str, self.keys)
        parts += map(str, self.subs)
        return f"{self.name}({','.join(parts)})"

    def expand(self, index: int, findings: Findings) -> list[bytes] | None:
        """Return the scripts at an index, None if a private key is needed for it. Adds to `findings`."""
        keys: list[bytes] = []
        own = Findings(secrets=findings.secrets)
        for key in self.keys:
            pubkey = key.expand(index, own)
            if pubkey is None:
                return None
            keys.append(pubkey)
        findings.merge(own)
        scripts: list[bytes] = []
        for sub in self.subs:
            expanded = sub.expand(index, findings)
            if expanded is None:
                return None
            scripts.append(expanded[0])
        return self.make(keys, scripts, findings)

    def add_given_secrets(self, findings: Findings) -> None:
        """Add the private keys that stand in it."""
        for key in self.keys:
            key.add_given_secrets(findings)
        for sub in self.subs:
            sub.add_given_secrets(findings)

    def expand_private(self, index: int, findings: Findings) -> None:
        """Add the private keys at an index, as far as they are known."""
        for key in self.keys:
            key.expand_private(index, findings)
        for sub in self.subs:
            sub.expand_private(index, findings)


def make_pk(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a bare key."""
    return [p2pk_script(keys[0])]


def make_xonly_pk(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Ask for the signature of a key in a leaf."""
    return [push_data(xonly(keys[0])) + bytes((OP_CHECKSIG,))]


def make_pkh(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a key's hash."""
    return [p2pkh_script(hash160(keys[0]))]


def make_wpkh(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a key's hash in a witness program."""
    return [witness_script(0, hash160(keys[0]))]


def make_combo(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a key in every way; segwit takes compressed keys only."""
    key_hash = hash160(keys[0])
    made = [p2pk_script(keys[0]), p2pkh_script(key_hash)]
    if len(keys[0]) == 33:
        program = witness_script(0, key_hash)
        findings.add_script(program)
        made += [program, p2sh_script(hash160(program))]
    return made


def multisig_maker(required: int, *, by_order: bool) -> Maker:
    """Return what makes a multisig of the keys, `by_order` of their bytes or as they stand."""

    def make(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
        return [multisig_script(required, sorted(keys) if by_order else list(keys))]

    return make


def multi_a_maker(required: int, *, by_order: bool) -> Maker:
    """Return what makes a leaf's multisig of the keys (BIP387)."""

    def make(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
        ordered = [xonly(key) for key in keys]
        if by_order:
            ordered.sort()
        parts = [push_data(key) + bytes((OP_CHECKSIGADD if at else OP_CHECKSIG,)) for at, key in enumerate(ordered)]
        return [b"".join([*parts, push_number(required), bytes((OP_NUMEQUAL,))])]

    return make


def miniscript_maker(node: Node) -> Maker:
    """Return what makes the script of a miniscript whose keys are numbers of the expression's keys."""

    def make(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
        in_script = [xonly(key) for key in keys] if node.tapscript else keys
        for key, shown in zip(keys, in_script, strict=True):
            findings.pubkeys.setdefault(hash160(shown), key)
        return [
            to_script(
                node,
                lambda number: in_script[int.from_bytes(number, "big")],
                lambda number: hash160(in_script[int.from_bytes(number, "big")]),
            )
        ]

    return make


def make_sh(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a script's hash (BIP16)."""
    findings.add_script(scripts[0])
    return [p2sh_script(hash160(scripts[0]))]


def make_wsh(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to a script's hash in a witness program."""
    findings.add_script(scripts[0])
    return [witness_script(0, sha256(scripts[0]))]


def tr_maker(depths: Sequence[int]) -> Maker:
    """Return what pays to the output key of an internal key with leaves at these depths (BIP341)."""

    def make(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
        leaves = [TapLeaf(depth, TAPSCRIPT_VERSION, script) for depth, script in zip(depths, scripts, strict=True)]
        tree = build_tap_tree(leaves)
        assert tree is not None, "the parser reads whole trees only"
        output_key = taproot_output_key(xonly(keys[0]), tree.merkle_root)
        findings.tap_outputs[output_key] = TapOutput(xonly(keys[0]), tree)
        return [witness_script(1, output_key)]

    return make


def make_rawtr(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Pay to an output key as it is."""
    return [witness_script(1, xonly(keys[0]))]


def make_nothing(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
    """Stand for a key that no script uses."""
    return []


def constant_maker(script: bytes) -> Maker:
    """Return what makes a script that is known from the start."""

    def make(keys: Sequence[bytes], scripts: Sequence[bytes], findings: Findings) -> list[bytes]:
        return [script]

    return make


def xonly(pubkey: bytes) -> bytes:
    """Return the X of a public key of 33 or 65 bytes."""
    return pubkey[1:33]
