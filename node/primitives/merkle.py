"""Merkle trees of blocks.

Owns: the root and the detection of duplicated hashes (CVE-2012-2459). Never: what a wrong root means.
"""

from collections.abc import Sequence
from hashlib import sha256 as _sha256
from operator import eq

from clarion.node.primitives.ids import NULL_HASH


def merkle_root(hashes: Sequence[bytes]) -> tuple[bytes, bool]:
    """Return (root, mutated) of 32-byte hashes in internal order; the root of nothing is 32 zero bytes.

    `mutated` is True where two equal hashes stand side by side as a pair at some level: a shorter list has the same
    root then, so the list may have been forged.
    """
    if not hashes:
        return NULL_HASH, False
    level = list(hashes)
    mutated = False
    while len(level) > 1:
        left, right = level[::2], level[1::2]
        if True in map(eq, left, right):
            mutated = True
        # An odd last hash is paired with itself, which is no mutation.
        if len(level) & 1:
            right.append(level[-1])
        level = [_sha256(_sha256(a + b).digest()).digest() for a, b in zip(left, right, strict=True)]
    return level[0], mutated
