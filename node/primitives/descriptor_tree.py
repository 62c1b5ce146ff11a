"""The script trees of `tr(KEY,TREE)` (BIP386).

Owns: reading the tree's brackets, and writing them. Never: the leaves.
"""

from collections.abc import Callable, Sequence

from clarion.node.primitives.descriptor_checksum import DescriptorError
from clarion.node.primitives.miniscript.parsing import take_expression
from clarion.node.primitives.taproot_tree import TAPROOT_MAX_DEPTH


def read_tree(text: str, read_leaf: Callable[[str], None]) -> list[int]:
    """Return the depths of a tree's leaves in their order; `read_leaf` is called with each leaf's text.

    Raises DescriptorError with the reference's message.
    """
    depths: list[int] = []
    # The way down from the root: whether each step went to the right.
    branches: list[bool] = []
    while True:
        while text.startswith("{"):
            text = text[1:]
            branches.append(False)
            if len(branches) > TAPROOT_MAX_DEPTH:
                raise DescriptorError(f"tr() supports at most {TAPROOT_MAX_DEPTH} nesting levels")
        leaf, text = take_expression(text)
        read_leaf(leaf)
        depths.append(len(branches))
        while branches and branches[-1]:
            if not text.startswith("}"):
                raise DescriptorError("tr(): expected '}' after script expression")
            text = text[1:]
            branches.pop()
        if branches:
            if not text.startswith(","):
                raise DescriptorError("tr(): expected ',' after script expression")
            text = text[1:]
            branches[-1] = True
        else:
            break
    if text:
        raise DescriptorError("tr(): expected ')' after script expression")
    return depths


def tree_text(depths: Sequence[int], leaves: Sequence[str]) -> str:
    """Return the text of a tree with these leaves."""
    parts: list[str] = []
    path: list[bool] = []
    for depth, leaf in zip(depths, leaves, strict=True):
        if parts:
            parts.append(",")
        while len(path) <= depth:
            if path:
                parts.append("{")
            path.append(False)
        parts.append(leaf)
        while path and path[-1]:
            if len(path) > 1:
                parts.append("}")
            path.pop()
        if path:
            path[-1] = True
    return "".join(parts)
