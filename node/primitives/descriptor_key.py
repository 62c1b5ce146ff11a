"""Key expressions of descriptors.

Owns: public keys in hex, private keys in WIF, extended keys with paths, ranges and alternatives, and key origins.
Never: what a key is used for.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from clarion.node.primitives.address import AddressFormat, SecretKey, decode_secret
from clarion.node.primitives.bip32 import HARDENED, ExtendedKey, decode_extended_key
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.descriptor_findings import Findings
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.key_origin import KeyOrigin, path_text
from clarion.node.primitives.keys import is_valid_pubkey, pubkey_of_secret
from clarion.node.primitives.script import is_valid_pubkey_size

_HEX = re.compile(r"([0-9a-fA-F]{2})+")
_WHITESPACE = " \t\n\v\f\r"


class Wildcard(Enum):
    """What a key expression ends in."""

    NONE = ""
    PLAIN = "/*"
    HARDENED = "/*h"


class Key(Protocol):
    """A key of a descriptor: a single or extended one, or MuSig2's aggregate of several."""

    @property
    def is_range(self) -> bool:
        """Whether it stands for a key at every index."""

    @property
    def has_private_keys(self) -> bool:
        """Whether a private key stands in it."""

    @property
    def is_extended(self) -> bool:
        """Whether keys can be derived of it."""

    @property
    def size(self) -> int:
        """Bytes of the public key."""

    def expand(self, index: int, findings: Findings) -> bytes | None:
        """Return the public key at an index, which only ranges heed, and add what is learnt; None if a private key is
        needed for it."""

    def add_given_secrets(self, findings: Findings) -> None:
        """Add the private keys that stand in it."""

    def expand_private(self, index: int, findings: Findings) -> None:
        """Add the private keys at an index, as far as they are known."""

    def public_identity(self) -> bytes:
        """Return the public key at index 0 without any private key's help, empty if it takes one."""


@dataclass(frozen=True, slots=True)
class KeyExpression:
    """A single key (`pubkey`), or an extended key with the path below it and what may follow.

    `root_text` is the public form of the key itself, `mark` the sign of hardened steps as it was written last. `root` is
    an extended key itself, `base` the one at the path's end, None where it takes a private key that is not known.
    `secret` is the private key of the key itself, where it was given.
    """

    pubkey: bytes
    root_text: str
    root: ExtendedKey | None = None
    base: ExtendedKey | None = None
    path: tuple[int, ...] = ()
    wildcard: Wildcard = Wildcard.NONE
    mark: str = "h"
    origin: KeyOrigin | None = None
    secret: SecretKey | None = None

    @property
    def is_extended(self) -> bool:
        """Whether keys can be derived of it."""
        return self.root is not None

    @property
    def is_range(self) -> bool:
        """Whether it stands for a key at every index."""
        return self.wildcard is not Wildcard.NONE

    @property
    def has_private_keys(self) -> bool:
        """Whether it was given as a private key."""
        return self.secret is not None

    @property
    def size(self) -> int:
        """Bytes of the public key."""
        return len(self.pubkey)

    def expand(self, index: int, findings: Findings) -> bytes | None:
        """Return the key at an index, as `Key` has it."""
        path, pubkey = self.path, self.pubkey
        if self.is_extended:
            key = self._derive(index, findings)
            if key is None:
                return None
            pubkey = key.pubkey
            path += self._step(index)
        findings.add_key(pubkey, KeyOrigin(hash160(self.pubkey)[:4], path), self.origin)
        return pubkey

    def add_given_secrets(self, findings: Findings) -> None:
        """Add the private key that stands in it."""
        if self.secret is not None:
            findings.secrets.setdefault(hash160(self.pubkey), self.secret)

    def expand_private(self, index: int, findings: Findings) -> None:
        """Add the private key at an index if it is known."""
        root = self._private_root(findings)
        key = None if root is None else below(root, self.path + self._step(index))
        if key is not None and key.secret is not None:
            findings.secrets.setdefault(hash160(key.pubkey), SecretKey(key.secret, True))

    def public_identity(self) -> bytes:
        """Return the public key at index 0, empty if it takes a private key."""
        if self.is_extended and any(step & HARDENED for step in self.path + self._step(0)):
            return b""
        return self.expand(0, Findings()) or b""

    def _step(self, index: int) -> tuple[int, ...]:
        """Return the last step of the path, which is there for ranges only."""
        if not self.is_range:
            return ()
        return (index | HARDENED if self.wildcard is Wildcard.HARDENED else index,)

    def _derive(self, index: int, findings: Findings) -> ExtendedKey | None:
        key = self.base
        for step in self._step(index):
            key = None if key is None else key.derive(step)
        if key is None:
            # Another key of the descriptor may have told the private key.
            root = self._private_root(findings)
            key = None if root is None else below(root, self.path + self._step(index))
        return key

    def _private_root(self, findings: Findings) -> ExtendedKey | None:
        secret = findings.secrets.get(hash160(self.pubkey))
        return None if self.root is None or secret is None else self.root._replace(secret=secret.secret)

    def __str__(self) -> str:
        """Return the public form, as in a canonical descriptor."""
        origin = "" if self.origin is None else f"[{self.origin.text(self.mark)}]"
        wildcard = self.wildcard.value.replace("h", self.mark)
        return origin + self.root_text + path_text(self.path, self.mark) + wildcard


class Marks:
    """The sign of hardened steps, `h` until a step says otherwise."""

    def __init__(self) -> None:
        self.mark = "h"
        self.has_hardened = False

    def step(self, text: str) -> int:
        """Return the number of a path's step."""
        hardened = text[-1:] in ("'", "h")
        if hardened:
            self.mark, text = text[-1], text[:-1]
            self.has_hardened = True
        value = parse_uint32(text)
        if value is None:
            raise DescriptorError(f"Key path value '{text}' is not a valid uint32")
        if value >= HARDENED:
            raise DescriptorError(f"Key path value {value} is out of range")
        return value | HARDENED if hardened else value


def parse_uint32(text: str) -> int | None:
    """Return the value of decimal digits, None if it is no uint32."""
    if not re.fullmatch("[0-9]+", text):
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= 10 and int(digits or "0") <= 0xFFFFFFFF else None


def parse_key(text: str, network: AddressFormat, *, uncompressed: bool, xonly: bool) -> list[KeyExpression]:
    """Return the keys of a key expression, one for each of its alternatives.

    `uncompressed` and `xonly` say whether such keys may stand here. Raises DescriptorError with the reference's message.
    MuSig2's aggregates are not read here (see `descriptor_musig`).
    """
    parts = text.split("]")
    if len(parts) > 2:
        raise DescriptorError("Multiple ']' characters found for a single pubkey")
    marks = Marks()
    origin = _parse_origin(parts[0], marks) if len(parts) == 2 else None
    keys = _parse_inner(parts[-1], network, marks, uncompressed, xonly)
    # The sign is known only now that the last step was read.
    return [replace(key, origin=origin, mark=marks.mark) for key in keys]


def _parse_origin(text: str, marks: Marks) -> KeyOrigin:
    if not text.startswith("["):
        got = text[0] if text else "]"
        raise DescriptorError(f"Key origin start '[ character expected but not found, got '{got}' instead")
    fingerprint, *steps = text[1:].split("/")
    if len(fingerprint) != 8:
        raise DescriptorError(f"Fingerprint is not 4 bytes ({len(fingerprint)} characters instead of 8 characters)")
    if not _HEX.fullmatch(fingerprint):
        raise DescriptorError(f"Fingerprint '{fingerprint}' is not hex")
    for step in steps:
        if _has_alternatives(step):
            raise DescriptorError(
                f"Key path value '{step}' specifies multipath in a section where multipath is not allowed"
            )
    return KeyOrigin(bytes.fromhex(fingerprint), tuple([marks.step(step) for step in steps]))


def _parse_inner(
    text: str, network: AddressFormat, marks: Marks, uncompressed: bool, xonly: bool
) -> list[KeyExpression]:
    name, *steps = text.split("/")
    if not name:
        raise DescriptorError("No key provided")
    if name[0] in _WHITESPACE or name[-1] in _WHITESPACE:
        raise DescriptorError(f"Key '{name}' is invalid due to whitespace")
    if not steps and _HEX.fullmatch(name):
        return [_parse_hex(name, uncompressed, xonly)]
    secret = None if steps else decode_secret(name, network)
    if secret is not None:
        if not secret.compressed and not uncompressed:
            raise DescriptorError("Uncompressed keys are not allowed")
        pubkey = pubkey_of_secret(secret.secret, secret.compressed)
        return [KeyExpression(pubkey, pubkey.hex()[2:] if xonly else pubkey.hex(), secret=secret)]
    return _parse_extended(name, steps, network, marks)


def _parse_hex(text: str, uncompressed: bool, xonly: bool) -> KeyExpression:
    data = bytes.fromhex(text)
    if is_valid_pubkey_size(data):
        if data[0] in (6, 7):
            raise DescriptorError("Hybrid public keys are not allowed")
        if is_valid_pubkey(data):
            if len(data) == 65 and not uncompressed:
                raise DescriptorError("Uncompressed keys are not allowed")
            return KeyExpression(data, data.hex())
    elif len(data) == 32 and xonly and is_valid_pubkey(b"\x02" + data):
        return KeyExpression(b"\x02" + data, data.hex())
    raise DescriptorError(f"Pubkey '{text}' is invalid")


def _parse_extended(name: str, steps: list[str], network: AddressFormat, marks: Marks) -> list[KeyExpression]:
    base58 = network.base58
    key = decode_extended_key(name, base58.ext_public, base58.ext_secret)
    if key is None:
        raise DescriptorError(f"key '{name}' is not valid")
    wildcard = take_wildcard(steps, marks)
    paths = parse_path(steps, marks)
    root_text = key.encode_public(base58.ext_public)
    secret = None if key.secret is None else SecretKey(key.secret, True)
    return [
        KeyExpression(key.pubkey, root_text, key, below(key, path), path, wildcard, secret=secret) for path in paths
    ]


def take_wildcard(steps: list[str], marks: Marks) -> Wildcard:
    """Take the wildcard from the end of a path's steps and return it."""
    if not steps or steps[-1] not in ("*", "*'", "*h"):
        return Wildcard.NONE
    last = steps.pop()
    if last == "*":
        return Wildcard.PLAIN
    marks.mark = last[-1]
    return Wildcard.HARDENED


def below(key: ExtendedKey, path: tuple[int, ...]) -> ExtendedKey | None:
    """Return the key at the end of a path, None if it takes a private key that is not known."""
    found: ExtendedKey | None = key
    for step in path:
        found = None if found is None else found.derive(step)
    return found


def _has_alternatives(step: str) -> bool:
    return step.startswith("<") and step.endswith(">")


def parse_path(steps: list[str], marks: Marks) -> list[tuple[int, ...]]:
    """Return the paths that the steps stand for: several if one of them is a list like `<0;1>`. Raises DescriptorError."""
    columns: list[list[int]] = []
    count = 1
    for step in steps:
        if not _has_alternatives(step):
            columns.append([marks.step(step)])
            continue
        if count > 1:
            raise DescriptorError("Multiple multipath key path specifiers found")
        column = _parse_alternatives(step[1:-1], marks)
        count = len(column)
        columns.append(column)
    return [tuple([column[at if len(column) > 1 else 0] for column in columns]) for at in range(count)]


def _parse_alternatives(text: str, marks: Marks) -> list[int]:
    numbers = text.split(";")
    if len(numbers) < 2:
        raise DescriptorError("Multipath key path specifiers must have at least two items")
    column: list[int] = []
    for number in numbers:
        value = marks.step(number)
        if value in column:
            raise DescriptorError(f"Duplicated key path value {value} in multipath specifier")
        column.append(value)
    return column
