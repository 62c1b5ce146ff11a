"""Extended keys: deriving children and their text (BIP32).

Owns: the derivation and the 78 bytes of an `xpub` or `xprv`. Never: paths as text, or which network is meant.
"""

import hashlib
import hmac
from typing import NamedTuple

from coincurve import PrivateKey, PublicKey

from clarion.node.errors import DecodeError
from clarion.node.primitives.base58 import decode_base58check, encode_base58check
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.keys import is_valid_pubkey, pubkey_of_secret

HARDENED = 0x80000000
"""Child numbers from here on need the private key."""

_SIZE = 74
_MAX_DEPTH = 255


class ExtendedKey(NamedTuple):
    """A public key of 33 bytes with its chain code and its place; `secret` is the private key where it is known."""

    depth: int
    parent_fingerprint: bytes
    child_number: int
    chain_code: bytes
    pubkey: bytes
    secret: bytes | None = None

    def derive(self, number: int) -> "ExtendedKey | None":
        """Return the child of this number, None where there is none: hardened ones of a public key among them."""
        if self.depth == _MAX_DEPTH or (number >= HARDENED and self.secret is None):
            return None
        parent = b"\0" + self.secret if number >= HARDENED and self.secret is not None else self.pubkey
        digest = hmac.digest(self.chain_code, parent + number.to_bytes(4, "big"), hashlib.sha512)
        tweak, chain_code = digest[:32], digest[32:]
        try:
            if self.secret is not None:
                secret = PrivateKey(self.secret).add(tweak).secret
                pubkey = pubkey_of_secret(secret)
            else:
                secret, pubkey = None, PublicKey(self.pubkey).add(tweak).format()
        except ValueError:
            # One in 2^127 has no key.
            return None
        return ExtendedKey(self.depth + 1, hash160(self.pubkey)[:4], number, chain_code, pubkey, secret)

    def tweak(self, number: int) -> bytes:
        """Return the 32 bytes that make the child of this number, which is no hardened one, of the public key."""
        return hmac.digest(self.chain_code, self.pubkey + number.to_bytes(4, "big"), hashlib.sha512)[:32]

    def encode_public(self, prefix: bytes) -> str:
        """Return the text of the public key; `prefix` are the network's four version bytes."""
        place = bytes((self.depth,)) + self.parent_fingerprint + self.child_number.to_bytes(4, "big")
        return encode_base58check(prefix + place + self.chain_code + self.pubkey)


def decode_extended_key(text: str, public_prefix: bytes, secret_prefix: bytes) -> ExtendedKey | None:
    """Return the extended key of a text with one of the two prefixes, None if it is none or makes no sense."""
    try:
        data = decode_base58check(text, len(public_prefix) + _SIZE)
    except DecodeError:
        return None
    if len(data) != len(public_prefix) + _SIZE:
        return None
    prefix, data = data[: len(public_prefix)], data[len(public_prefix) :]
    depth, fingerprint, child, chain_code, key = data[0], data[1:5], data[5:9], data[9:41], data[41:]
    # A master key is nobody's child.
    if depth == 0 and (any(fingerprint) or any(child)):
        return None
    place = (depth, fingerprint, int.from_bytes(child, "big"), chain_code)
    if prefix == public_prefix:
        return ExtendedKey(*place, key) if is_valid_pubkey(key) else None
    if prefix != secret_prefix or key[0]:
        return None
    try:
        return ExtendedKey(*place, pubkey_of_secret(key[1:]), key[1:])
    except ValueError:
        return None
