"""Where a key comes from: a master key's fingerprint and the path below it.

Owns: the value and its text. Never: deriving keys.
"""

from typing import NamedTuple

from clarion.node.primitives.bip32 import HARDENED


class KeyOrigin(NamedTuple):
    """Where a key comes from: the first four bytes of the master key's hash160 and the path below it."""

    fingerprint: bytes
    path: tuple[int, ...] = ()

    def text(self, mark: str = "h") -> str:
        """Return fingerprint and path as they stand between the brackets; `mark` is that of hardened steps."""
        return self.fingerprint.hex() + path_text(self.path, mark)


def path_text(path: tuple[int, ...], mark: str = "h") -> str:
    """Return a path as text, each step with a slash in front."""
    return "".join([f"/{step & ~HARDENED}{mark if step & HARDENED else ''}" for step in path])
