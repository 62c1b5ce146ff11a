"""Script expressions of descriptors: their texts, and the scripts that they stand for at an index.

Owns: one shape for all functions, and what is learnt of keys and scripts on the way. Never: parsing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clarion.node.primitives.descriptor_infer import SpendInfo
from clarion.node.primitives.descriptor_key import DerivedKey, KeyExpression
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.keys import taproot_output_key
from clarion.node.primitives.script import (
    multisig_script,
    p2pk_script,
    p2pkh_script,
    p2sh_script,
    witness_script,
)


@dataclass(slots=True)
class Findings:
    """What expanding expressions tells of keys and scripts, as `SpendInfo` has it."""

    pubkeys: dict[bytes, bytes] = field(default_factory=dict)
    origins: dict[bytes, str] = field(default_factory=dict)
    scripts: dict[bytes, bytes] = field(default_factory=dict)
    internal_keys: dict[bytes, bytes] = field(default_factory=dict)

    def add_key(self, key: DerivedKey) -> None:
        """Learn a key and its origin."""
        key_hash = hash160(key.data)
        self.pubkeys.setdefault(key_hash, key.data)
        self.origins.setdefault(key_hash, key.origin.text())

    def add_script(self, script: bytes) -> None:
        """Learn the script behind a hash."""
        self.scripts.setdefault(hash160(script), script)

    def info(self) -> SpendInfo:
        """Return it all."""
        return SpendInfo(self.pubkeys, self.origins, self.scripts, self.internal_keys)


Maker = Callable[[Sequence[bytes], bytes, Findings], list[bytes]]
"""Makes an expression's scripts of the keys' bytes and the inner script."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One function: `name(argument,keys…,inner)`, as far as it has them. `solvable` says that it tells how to spend."""

    name: str
    make: Maker
    argument: str = ""
    keys: tuple[KeyExpression, ...] = ()
    inner: "Expression | None" = None
    solvable: bool = True

    @property
    def is_range(self) -> bool:
        """Whether it stands for scripts at every index."""
        return any(key.is_range for key in self.keys) or (self.inner is not None and self.inner.is_range)

    @property
    def has_private_keys(self) -> bool:
        """Whether a private key stands in it."""
        return any(key.is_private for key in self.keys) or (self.inner is not None and self.inner.has_private_keys)

    def __str__(self) -> str:
        """Return the canonical form with public keys only and no checksum."""
        parts = [self.argument] if self.argument else []
        parts += map(str, self.keys)
        if self.inner is not None:
            parts.append(str(self.inner))
        return f"{self.name}({','.join(parts)})"

    def expand(self, index: int, findings: Findings) -> list[bytes] | None:
        """Return the scripts at an index, None if a private key is needed for it. Adds to `findings`."""
        keys = [key.derive(index) for key in self.keys]
        inner: list[bytes] | None = [b""] if self.inner is None else self.inner.expand(index, findings)
        if inner is None or None in keys:
            return None
        known = [key for key in keys if key is not None]
        for key in known:
            findings.add_key(key)
        return self.make([key.data for key in known], inner[0], findings)


def make_pk(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a bare key."""
    return [p2pk_script(keys[0])]


def make_pkh(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a key's hash."""
    return [p2pkh_script(hash160(keys[0]))]


def make_wpkh(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a key's hash in a witness program."""
    return [witness_script(0, hash160(keys[0]))]


def make_combo(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a key in every way; segwit takes compressed keys only."""
    key_hash = hash160(keys[0])
    scripts = [p2pk_script(keys[0]), p2pkh_script(key_hash)]
    if len(keys[0]) == 33:
        program = witness_script(0, key_hash)
        findings.add_script(program)
        scripts += [program, p2sh_script(hash160(program))]
    return scripts


def multisig_maker(required: int, *, by_order: bool) -> Maker:
    """Return what makes a multisig of the keys, `by_order` of their bytes or as they stand."""

    def make(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
        return [multisig_script(required, sorted(keys) if by_order else list(keys))]

    return make


def make_sh(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a script's hash (BIP16)."""
    findings.add_script(inner)
    return [p2sh_script(hash160(inner))]


def make_wsh(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to a script's hash in a witness program."""
    findings.add_script(inner)
    return [witness_script(0, sha256(inner))]


def make_tr(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to the output key of an internal key without scripts (BIP341)."""
    internal_key = keys[0][1:33]
    output_key = taproot_output_key(internal_key)
    findings.internal_keys[output_key] = internal_key
    return [witness_script(1, output_key)]


def make_rawtr(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Pay to an output key as it is."""
    return [witness_script(1, keys[0][1:33])]


def make_nothing(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
    """Stand for a key that no script uses."""
    return []


def constant_maker(script: bytes) -> Maker:
    """Return what makes a script that is known from the start."""

    def make(keys: Sequence[bytes], inner: bytes, findings: Findings) -> list[bytes]:
        return [script]

    return make
