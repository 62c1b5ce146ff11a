"""A hash that nobody outside can foretell.

Owns: the node's own random key. Never: what is hashed.
"""

import secrets

from clarion.node.primitives.siphash import siphash


class KeyedHash:
    """Maps bytes to 64 bits under a key that is drawn when the node starts."""

    def __init__(self) -> None:
        self._k0, self._k1 = secrets.randbits(64), secrets.randbits(64)

    def __call__(self, purpose: bytes, *parts: bytes) -> int:
        """Return the hash of `parts`, which is another one for another purpose. Parts are told apart."""
        data = purpose + b"".join([len(part).to_bytes(2, "little") + part for part in parts])
        return siphash(self._k0, self._k1, data)
