"""The hash functions of the protocol.

Owns: which implementation computes them. Never: what is hashed.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache

_sha256 = hashlib.sha256


def sha256(data: bytes) -> bytes:
    """Return the 32-byte SHA-256 of `data`."""
    return _sha256(data).digest()


def sha256d(data: bytes) -> bytes:
    """Return SHA-256 of SHA-256, the hash behind txids and block hashes, in internal byte order."""
    return _sha256(_sha256(data).digest()).digest()


def _choose_ripemd160() -> Callable[[bytes], bytes]:
    # Some OpenSSL 3.0 builds ship without the legacy provider that has RIPEMD-160.
    try:
        blank = hashlib.new("ripemd160")
    except ValueError:
        from Crypto.Hash import RIPEMD160

        return lambda data: RIPEMD160.new(data).digest()

    def copied(data: bytes) -> bytes:
        # Copying a fresh state takes half the time of looking the algorithm up by name.
        state = blank.copy()
        state.update(data)
        return state.digest()

    return copied


ripemd160 = _choose_ripemd160()
"""Return the 20-byte RIPEMD-160 of the argument."""


def hash160(data: bytes) -> bytes:
    """Return RIPEMD-160 of SHA-256, the 20 bytes behind P2PKH, P2SH and P2WPKH."""
    return ripemd160(_sha256(data).digest())


@lru_cache(maxsize=64)
def _tag_midstate(tag: str) -> "hashlib._Hash":
    digest = _sha256(tag.encode()).digest()
    return _sha256(digest + digest)


def tagged_hash(tag: str, data: bytes) -> bytes:
    """Return BIP340's tagged hash: SHA-256(SHA-256(tag) || SHA-256(tag) || data), 32 bytes."""
    state = _tag_midstate(tag).copy()
    state.update(data)
    return state.digest()
