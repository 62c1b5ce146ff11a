"""Addresses and private keys as text, both ways.

Owns: base58, bech32 and bech32m addresses, the wallet import format, and the reference's error texts.
Never: which network is meant (the caller passes its prefixes).
"""

from functools import lru_cache
from typing import NamedTuple, Protocol

from clarion.node.errors import DecodeError
from clarion.node.primitives.base58 import decode_base58, decode_base58check, encode_base58check
from clarion.node.primitives.bech32 import BECH32, BECH32M, decode_bech32, encode_bech32, from_5_bits, to_5_bits
from clarion.node.primitives.bech32_errors import locate_errors
from clarion.node.primitives.script import p2pkh_script, p2sh_script, witness_program, witness_script
from clarion.node.primitives.templates import ScriptType, solve

_KEY_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class Base58Format(Protocol):
    """Version bytes in front of base58check payloads."""

    @property
    def pubkey(self) -> bytes: ...
    @property
    def script(self) -> bytes: ...
    @property
    def secret(self) -> bytes: ...
    @property
    def ext_public(self) -> bytes: ...
    @property
    def ext_secret(self) -> bytes: ...


class AddressFormat(Protocol):
    """What tells one network's addresses from another's; chain parameters satisfy it."""

    @property
    def base58(self) -> Base58Format: ...
    @property
    def bech32_hrp(self) -> str: ...


class AddressPrefixes(NamedTuple):
    """A network's prefixes by value: hashable, so answers about scripts can be cached by it."""

    pubkey: bytes
    script: bytes
    secret: bytes
    ext_public: bytes
    ext_secret: bytes
    bech32_hrp: str

    @property
    def base58(self) -> "AddressPrefixes":
        """Itself: it is an AddressFormat too."""
        return self

    @classmethod
    def of(cls, network: AddressFormat) -> "AddressPrefixes":
        """Return the prefixes of a network."""
        if isinstance(network, AddressPrefixes):
            return network
        base58 = network.base58
        return cls(
            base58.pubkey, base58.script, base58.secret, base58.ext_public, base58.ext_secret, network.bech32_hrp
        )


class AddressError(DecodeError):
    """A text that is no address of this network; `str()` is the reference's message.

    `locations` are the positions of characters that are likely wrong, where the checksum can tell.
    """

    def __init__(self, message: str, locations: list[int] | None = None) -> None:
        super().__init__(message)
        self.locations = locations or []


class SecretKey(NamedTuple):
    """A private key of 32 bytes and whether its public key is used in compressed form."""

    secret: bytes
    compressed: bool


def encode_address(script_pubkey: bytes, network: AddressFormat) -> str | None:
    """Return the address that pays to `script_pubkey`, None where no address does (bare keys and multisig too)."""
    return _encode(script_pubkey, AddressPrefixes.of(network))


@lru_cache(maxsize=1 << 16)
def _encode(script: bytes, prefixes: AddressPrefixes) -> str | None:
    kind, data, _ = solve(script)
    if kind is ScriptType.PUBKEYHASH:
        return encode_base58check(prefixes.pubkey + data[0])
    if kind is ScriptType.SCRIPTHASH:
        return encode_base58check(prefixes.script + data[0])
    program = None if kind is ScriptType.NONSTANDARD else witness_program(script)
    if program is None:
        return None
    version, payload = program
    return encode_bech32(prefixes.bech32_hrp, [version, *to_5_bits(payload)], BECH32M if version else BECH32)


def decode_address(text: str, network: AddressFormat) -> bytes:
    """Return the script that an address of this network pays to. Raises AddressError with the reference's message."""
    prefix = network.bech32_hrp
    # A good Bech32 address of another network goes the way of Base58 and fails there, as in the reference.
    if text[: len(prefix)].lower() == prefix:
        return _decode_segwit(text, prefix)
    try:
        data = decode_base58check(text, 21)
    except DecodeError:
        raise AddressError(_base58_problem(text)) from None
    pubkey_prefix, script_prefix = network.base58.pubkey, network.base58.script
    if len(data) == 20 + len(pubkey_prefix) and data.startswith(pubkey_prefix):
        return p2pkh_script(data[len(pubkey_prefix) :])
    if len(data) == 20 + len(script_prefix) and data.startswith(script_prefix):
        return p2sh_script(data[len(script_prefix) :])
    if data.startswith((pubkey_prefix, script_prefix)):
        raise AddressError("Invalid length for Base58 address (P2PKH or P2SH)")
    raise AddressError("Invalid or unsupported Base58-encoded address.")


def _base58_problem(text: str) -> str:
    try:
        decode_base58(text, 100)
    except DecodeError:
        return "Invalid or unsupported Segwit (Bech32) or Base58 encoding."
    return "Invalid checksum or length of Base58 address (P2PKH or P2SH)"


def _decode_segwit(text: str, expected_prefix: str) -> bytes:
    try:
        prefix, values, constant = decode_bech32(text)
    except DecodeError:
        raise AddressError(*locate_errors(text)) from None
    if not values:
        raise AddressError("Empty Bech32 data section")
    if prefix != expected_prefix:
        raise AddressError(
            f"Invalid or unsupported prefix for Segwit (Bech32) address (expected {expected_prefix}, got {prefix})."
        )
    version = values[0]
    if version == 0 and constant != BECH32:
        raise AddressError("Version 0 witness address must use Bech32 checksum")
    if version != 0 and constant != BECH32M:
        raise AddressError("Version 1+ witness address must use Bech32m checksum")
    try:
        program = from_5_bits(values[1:])
    except DecodeError as error:
        raise AddressError(str(error)) from None
    _check_program(version, program)
    return witness_script(version, program)


def _check_program(version: int, program: bytes) -> None:
    size = f"({len(program)} {'byte' if len(program) == 1 else 'bytes'})"
    if version == 0:
        if len(program) not in (20, 32):
            raise AddressError(f"Invalid Bech32 v0 address program size {size}, per BIP141")
    elif version > 16:
        raise AddressError("Invalid Bech32 address witness version")
    elif not 2 <= len(program) <= 40:
        raise AddressError(f"Invalid Bech32 address program size {size}")


def decode_secret(text: str, network: AddressFormat) -> SecretKey | None:
    """Return the private key of a WIF text of this network, None if it is none or the key is out of range."""
    prefix = network.base58.secret
    try:
        data = decode_base58check(text, 34)
    except DecodeError:
        return None
    if not data.startswith(prefix):
        return None
    payload = data[len(prefix) :]
    compressed = len(payload) == 33 and payload[32] == 1
    if len(payload) != 32 and not compressed:
        return None
    secret = payload[:32]
    if not 0 < int.from_bytes(secret, "big") < _KEY_ORDER:
        return None
    return SecretKey(secret, compressed)


def encode_secret(key: SecretKey, network: AddressFormat) -> str:
    """Return the WIF text of a private key."""
    return encode_base58check(network.base58.secret + key.secret + (b"\x01" if key.compressed else b""))
