"""MuSig2's aggregate keys in descriptors: `musig(KEY,KEY,…)/path` (BIP390).

Owns: reading and expanding them. Never: the keys inside.
"""

from collections.abc import Callable
from dataclasses import dataclass

from clarion.node.primitives.bip32 import ExtendedKey
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.descriptor_key import Key, Marks, Wildcard, below, parse_path, take_wildcard
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.key_origin import KeyOrigin, path_text
from clarion.node.primitives.miniscript.parsing import take_expression
from clarion.node.primitives.musig import aggregate_pubkeys, synthetic_extended_key

_XONLY_SIZE = 32
NAME = "musig("


@dataclass(frozen=True, slots=True)
class MusigKey:
    """The aggregate of the participants' keys, sorted, or what is derived of it by `path` and wildcard."""

    participants: tuple[Key, ...]
    path: tuple[int, ...] = ()
    wildcard: Wildcard = Wildcard.NONE

    @property
    def is_range(self) -> bool:
        """Whether it stands for a key at every index."""
        return self.wildcard is not Wildcard.NONE or any(key.is_range for key in self.participants)

    @property
    def has_private_keys(self) -> bool:
        """Whether a private key stands in it."""
        return any(key.has_private_keys for key in self.participants)

    @property
    def is_extended(self) -> bool:
        """Whether keys can be derived of it."""
        return all(key.is_extended for key in self.participants)

    @property
    def size(self) -> int:
        """Bytes of the key: it stands only where keys are x-only."""
        return _XONLY_SIZE

    def expand(self, index: int, findings: Findings) -> bytes | None:
        """Return the key at an index, as `Key` has it."""
        keys = [key.expand(index, findings) for key in self.participants]
        known = sorted(key for key in keys if key is not None)
        aggregate = aggregate_pubkeys(known) if len(known) == len(keys) else None
        if aggregate is None:
            return None
        path = self.path if self.wildcard is Wildcard.NONE else (*self.path, index)
        derived: ExtendedKey | None = below(synthetic_extended_key(aggregate), path)
        if derived is None:
            return None
        findings.add_key(derived.pubkey, KeyOrigin(hash160(aggregate)[:4], path))
        findings.participants.setdefault(aggregate, tuple(known))
        return derived.pubkey

    def add_given_secrets(self, findings: Findings) -> None:
        """Add the private keys that stand in it."""
        for key in self.participants:
            key.add_given_secrets(findings)

    def expand_private(self, index: int, findings: Findings) -> None:
        """Add the participants' private keys at an index, as far as they are known."""
        for key in self.participants:
            key.expand_private(index, findings)

    def public_identity(self) -> bytes:
        """Return the public key at index 0, empty if it takes a private key."""
        if not all(key.public_identity() for key in self.participants):
            return b""
        return self.expand(0, Findings()) or b""

    def __str__(self) -> str:
        """Return the public form."""
        return f"{NAME}{','.join(map(str, self.participants))}){path_text(self.path)}{self.wildcard.value}"


def parse_musig(text: str, read_key: Callable[[str], list[Key]]) -> list[Key]:
    """Return the aggregate keys of an expression that begins with `musig(`, one for each of its alternatives.

    `read_key` reads a participant. Raises DescriptorError with the reference's message.
    """
    inner, bracket, rest = text.partition(")")
    if ")" in rest:
        raise DescriptorError("Too many ')' in musig() expression")
    if not bracket or len(inner) < len(NAME):
        raise DescriptorError("Invalid musig() expression")
    columns = _participants(inner[len(NAME) :], read_key)
    paths: list[tuple[int, ...]] = [()]
    wildcard = Wildcard.NONE
    if rest.startswith("/"):
        paths, wildcard = _derivation(rest, [column[0] for column in columns])
    count = max(len(column) for column in columns)
    if count > 1 and len(paths) > 1:
        raise DescriptorError("musig(): Cannot have multipath participant keys if musig() is also multipath")
    if any(len(column) not in (1, count) for column in columns):
        raise DescriptorError("musig(): Multipath derivation paths have mismatched lengths")
    count = max(count, len(paths))
    return [
        MusigKey(
            tuple([column[at if len(column) > 1 else 0] for column in columns]),
            paths[at if len(paths) > 1 else 0],
            wildcard,
        )
        for at in range(count)
    ]


def _participants(text: str, read_key: Callable[[str], list[Key]]) -> list[list[Key]]:
    columns: list[list[Key]] = []
    while text:
        if columns:
            if text[0] != ",":
                raise DescriptorError(f"musig(): expected ',', got '{text[0]}'")
            text = text[1:]
        argument, text = take_expression(text)
        try:
            columns.append(read_key(argument))
        except DescriptorError as error:
            raise DescriptorError(f"musig(): {error}") from None
    if not columns:
        raise DescriptorError("musig(): Must contain key expressions")
    return columns


def _derivation(text: str, keys: list[Key]) -> tuple[list[tuple[int, ...]], Wildcard]:
    """Return the paths below the aggregate key, and the wildcard behind them."""
    if not all(key.is_extended for key in keys):
        raise DescriptorError("musig(): derivation requires all participants to be xpubs or xprvs")
    if any(key.is_range for key in keys):
        raise DescriptorError("musig(): Cannot have ranged participant keys if musig() also has derivation")
    marks = Marks()
    steps = text.split("/")[1:]
    wildcard = take_wildcard(steps, marks)
    if wildcard is Wildcard.HARDENED:
        raise DescriptorError("musig(): Cannot have hardened child derivation")
    try:
        paths = parse_path(steps, marks)
    except DescriptorError as error:
        raise DescriptorError(f"musig(): {error}") from None
    if marks.has_hardened:
        raise DescriptorError("musig(): cannot have hardened derivation steps")
    return paths, wildcard
