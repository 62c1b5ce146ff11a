"""Public keys: whether bytes are one, and the few derivations that addresses need.

Owns: validity, the key of a secret, taproot's output key (BIP341). Never: signatures (see `clarion.node.script`).
"""

from coincurve import PrivateKey, PublicKey, PublicKeyXOnly

from clarion.node.primitives.hashes import tagged_hash


def is_valid_pubkey(key: bytes) -> bool:
    """Whether the 33 or 65 bytes are a point of the curve (hybrid encodings count too)."""
    if len(key) not in (33, 65):
        return False
    try:
        PublicKey(key)
    except ValueError:
        return False
    return True


def uncompressed_pubkey(key: bytes) -> bytes | None:
    """Return the 65-byte form of a 33-byte key, None if that is no point of the curve."""
    if len(key) != 33:
        return None
    try:
        return PublicKey(key).format(compressed=False)
    except ValueError:
        return None


def is_valid_xonly(key: bytes) -> bool:
    """Whether the 32 bytes are the x coordinate of a point of the curve (BIP340)."""
    if len(key) != 32:
        return False
    try:
        PublicKeyXOnly(key)
    except ValueError:
        return False
    return True


def pubkey_of_secret(secret: bytes, compressed: bool = True) -> bytes:
    """Return the public key, 33 or 65 bytes, of a 32-byte secret. Raises ValueError if the secret is out of range."""
    return PrivateKey(secret).public_key.format(compressed=compressed)


def taproot_output_key(internal_key: bytes, merkle_root: bytes = b"") -> bytes:
    """Return the x-only output key of a valid x-only internal key and a script tree's root, empty for none (BIP341)."""
    return taproot_output_point(internal_key, merkle_root)[1:]


def taproot_output_point(internal_key: bytes, merkle_root: bytes = b"") -> bytes:
    """Return the same with the byte in front that tells its Y, 33 bytes."""
    tweak = tagged_hash("TapTweak", internal_key + merkle_root)
    return PublicKey(b"\x02" + internal_key).add(tweak).format()
