"""Key expressions of descriptors.

Owns: single public keys in hex, private keys in WIF, and key origins. Never: extended keys, which are refused by name.
"""

import re
from dataclasses import dataclass

from clarion.node.errors import DecodeError
from clarion.node.primitives.address import AddressFormat, decode_secret
from clarion.node.primitives.base58 import decode_base58check
from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.keys import is_valid_pubkey, pubkey_of_secret
from clarion.node.primitives.script import is_valid_pubkey_size

_HEX = re.compile(r"([0-9a-fA-F]{2})+")
_WHITESPACE = " \t\n\v\f\r"
_HARDENED = 0x80000000
_EXTENDED_KEY_SIZE = 78


@dataclass(frozen=True, slots=True)
class Key:
    """One key: `data` is the public key in 33 or 65 bytes; `origin` is fingerprint and path, empty if not given."""

    data: bytes
    shown_xonly: bool = False
    origin: str = ""
    is_private: bool = False

    @property
    def xonly(self) -> bytes:
        """The 32 bytes that taproot uses."""
        return self.data[1:33]

    def __str__(self) -> str:
        """Return the public form, as in a canonical descriptor."""
        origin = f"[{self.origin}]" if self.origin else ""
        return origin + (self.xonly if self.shown_xonly else self.data).hex()


def parse_key(text: str, network: AddressFormat, *, uncompressed: bool, xonly: bool) -> Key:
    """Return the key of a key expression; `uncompressed` and `xonly` say whether such keys may stand here.

    Raises DescriptorError with the reference's message.
    """
    if text.startswith("musig("):
        allowed = "is not supported" if xonly else "is only allowed in tr() and rawtr()"
        raise DescriptorError(f"musig() {allowed}")
    parts = text.split("]")
    if len(parts) > 2:
        raise DescriptorError("Multiple ']' characters found for a single pubkey")
    origin = ""
    if len(parts) == 2:
        origin = _parse_origin(parts[0])
    key = _parse_inner(parts[-1], network, uncompressed, xonly)
    return Key(key.data, key.shown_xonly, origin, key.is_private)


def _parse_origin(text: str) -> str:
    if not text.startswith("["):
        got = text[0] if text else "]"
        raise DescriptorError(f"Key origin start '[ character expected but not found, got '{got}' instead")
    fingerprint, *path = text[1:].split("/")
    if len(fingerprint) != 8:
        raise DescriptorError(f"Fingerprint is not 4 bytes ({len(fingerprint)} characters instead of 8 characters)")
    if not _HEX.fullmatch(fingerprint):
        raise DescriptorError(f"Fingerprint '{fingerprint}' is not hex")
    # One kind of hardened mark is shown throughout: the apostrophe if the last hardened step had it.
    hardened = [step[-1] for step in path if step[-1:] in ("'", "h")]
    mark = hardened[-1] if hardened else "h"
    steps = [_parse_step(step) for step in path]
    shown = [f"/{step & ~_HARDENED}{mark if step & _HARDENED else ''}" for step in steps]
    return fingerprint.lower() + "".join(shown)


def _parse_step(text: str) -> int:
    digits = text[:-1] if text[-1:] in ("'", "h") else text
    value = parse_uint32(digits)
    if value is None:
        raise DescriptorError(f"Key path value '{digits}' is not a valid uint32")
    if value >= _HARDENED:
        raise DescriptorError(f"Key path value {value} is out of range")
    return value if digits == text else value | _HARDENED


def parse_uint32(text: str) -> int | None:
    """Return the value of decimal digits, None if it is no uint32."""
    if not re.fullmatch("[0-9]+", text):
        return None
    digits = text.lstrip("0")
    return int(digits or "0") if len(digits) <= 10 and int(digits or "0") <= 0xFFFFFFFF else None


def _parse_inner(text: str, network: AddressFormat, uncompressed: bool, xonly: bool) -> Key:
    name, *path = text.split("/")
    if not name:
        raise DescriptorError("No key provided")
    if name[0] in _WHITESPACE or name[-1] in _WHITESPACE:
        raise DescriptorError(f"Key '{name}' is invalid due to whitespace")
    if not path and _HEX.fullmatch(name):
        return _parse_hex(name, uncompressed, xonly)
    secret = None if path else decode_secret(name, network)
    if secret is None:
        if _is_extended_key(name):
            raise DescriptorError(f"extended key '{name}' is not supported, only single keys are")
        raise DescriptorError(f"key '{name}' is not valid")
    if not secret.compressed and not uncompressed:
        raise DescriptorError("Uncompressed keys are not allowed")
    return Key(pubkey_of_secret(secret.secret, secret.compressed), shown_xonly=xonly, is_private=True)


def _parse_hex(text: str, uncompressed: bool, xonly: bool) -> Key:
    data = bytes.fromhex(text)
    if is_valid_pubkey_size(data):
        if data[0] in (6, 7):
            raise DescriptorError("Hybrid public keys are not allowed")
        if is_valid_pubkey(data):
            if len(data) == 65 and not uncompressed:
                raise DescriptorError("Uncompressed keys are not allowed")
            return Key(data)
    elif len(data) == 32 and xonly and is_valid_pubkey(b"\x02" + data):
        return Key(b"\x02" + data, shown_xonly=True)
    raise DescriptorError(f"Pubkey '{text}' is invalid")


def _is_extended_key(text: str) -> bool:
    try:
        return len(decode_base58check(text, _EXTENDED_KEY_SIZE)) == _EXTENDED_KEY_SIZE
    except DecodeError:
        return False
