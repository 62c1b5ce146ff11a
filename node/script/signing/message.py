"""Signed messages: a text signed by the key behind a P2PKH address.

Owns: what is hashed, and the form of the signature. Never: addresses.
"""

import base64

from clarion.node.primitives.address import SecretKey
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.hashes import hash160, sha256d
from clarion.node.script.signing.private_key import recover_pubkey, sign_recoverable

_MAGIC = var_bytes(b"Bitcoin Signed Message:\n")


def message_hash(message: bytes) -> bytes:
    """Return the 32 bytes that are signed. The text in front keeps a message from being a transaction."""
    return sha256d(_MAGIC + var_bytes(message))


def sign_message(key: SecretKey, message: bytes) -> str:
    """Return the signature in base64."""
    signature = sign_recoverable(key.secret, message_hash(message), compressed=key.compressed)
    return base64.b64encode(signature).decode()


def is_signed_by(signature: bytes, message: bytes, key_hash: bytes) -> bool:
    """Whether the key with this hash160 made the signature of the message."""
    pubkey = recover_pubkey(signature, message_hash(message))
    return pubkey is not None and hash160(pubkey) == key_hash
