"""Taproot's script trees: leaves with their depths, and what follows of them (BIP341).

Owns: whether depths make a tree, its root, the control blocks. Never: what the leaves' scripts do.
"""

from collections.abc import Iterable
from typing import NamedTuple

from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.hashes import tagged_hash
from clarion.node.primitives.keys import taproot_output_point

TAPROOT_MAX_DEPTH = 128
TAPSCRIPT_VERSION = 0xC0
"""Version of leaves whose scripts are tapscripts (BIP342)."""


def tapleaf_hash(leaf_version: int, script: bytes) -> bytes:
    """Return the 32-byte hash of a leaf (BIP341)."""
    return tagged_hash("TapLeaf", bytes((leaf_version,)) + var_bytes(script))


def tapbranch_hash(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of a branch; the order of the children does not matter (BIP341)."""
    return tagged_hash("TapBranch", left + right if left < right else right + left)


class TapLeaf(NamedTuple):
    """One leaf of a tree, as the list of a tree's leaves in depth-first order has it."""

    depth: int
    version: int
    script: bytes


class _Branch(NamedTuple):
    """A node's hash, and the leaves below it with the hashes on their way up to it."""

    hash: bytes
    leaves: tuple[tuple[TapLeaf, bytes], ...]


class TapTree(NamedTuple):
    """The root of a tree, empty for none, and its leaves, each with the hashes beside its way up to the root."""

    merkle_root: bytes = b""
    leaves: tuple[tuple[TapLeaf, bytes], ...] = ()

    def control_blocks(self, internal_key: bytes) -> dict[tuple[bytes, int], frozenset[bytes]]:
        """Return the control blocks of each (script, version) below a valid x-only internal key."""
        parity = taproot_output_point(internal_key, self.merkle_root)[0] & 1
        found: dict[tuple[bytes, int], frozenset[bytes]] = {}
        for leaf, path in self.leaves:
            block = bytes((leaf.version | parity,)) + internal_key + path
            key = (leaf.script, leaf.version)
            found[key] = found.get(key, frozenset()) | {block}
        return found

    def by_script(self) -> list[TapLeaf]:
        """Return the leaves in depth-first order, of two branches first the one that holds the lowest script."""
        waiting: list[tuple[int, tuple[bytes, int, int, bytes], list[TapLeaf]]] = []
        for leaf, path in self.leaves:
            depth, key, found = leaf.depth, (leaf.script, leaf.version, len(path), path), [leaf]
            while waiting and depth and waiting[-1][0] == depth:
                _, other_key, other = waiting.pop()
                key, found = min((key, found + other), (other_key, other + found), key=lambda each: each[0])
                depth -= 1
            waiting.append((depth, key, found))
        return waiting[0][2] if waiting else []


def build_tap_tree(leaves: Iterable[TapLeaf]) -> TapTree | None:
    """Return the tree of leaves in depth-first order, None if their depths make none. No leaves make an empty tree."""
    # At most one finished branch waits at each depth for its sister.
    waiting: list[_Branch | None] = []
    for leaf in leaves:
        depth = leaf.depth
        # A leaf can't stand above a branch that has no sister yet.
        if len(waiting) > depth + 1:
            return None
        branch = _Branch(tapleaf_hash(leaf.version, leaf.script), ((leaf, b""),))
        while len(waiting) > depth and (sister := waiting[depth]) is not None:
            if depth == 0:
                return None
            waiting.pop()
            branch = _join(branch, sister)
            depth -= 1
        waiting += [None] * (depth + 1 - len(waiting))
        waiting[depth] = branch
    if not waiting:
        return TapTree()
    root = waiting[0]
    return None if len(waiting) > 1 or root is None else TapTree(root.hash, root.leaves)


def _join(later: _Branch, earlier: _Branch) -> _Branch:
    # The later branch first, as the reference lists leaves.
    leaves = [(leaf, path + earlier.hash) for leaf, path in later.leaves]
    leaves += [(leaf, path + later.hash) for leaf, path in earlier.leaves]
    return _Branch(tapbranch_hash(later.hash, earlier.hash), tuple(leaves))
