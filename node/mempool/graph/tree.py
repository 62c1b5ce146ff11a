"""Chunks of a cluster that is a tree, where no search is needed.

Owns: the merging in one pass. Never: clusters in which some transactions have several parents and others several children.
"""

from collections.abc import Iterable, Sequence

from clarion.node.mempool.graph.bits import positions


def tree_chunks(
    fees: Sequence[int], sizes: Sequence[int], parents: Sequence[int], order: Sequence[int]
) -> list[int] | None:
    """Return the masks of the best order's chunks, the smallest possible; None if the cluster is no tree.

    `parents` holds the mask of direct parents of each transaction, `order` has parents first.
    """
    if not any(mask & (mask - 1) for mask in parents):
        return _merge(fees, sizes, _turned(parents), reversed(order), 1)
    children = _turned(parents)
    if not any(mask & (mask - 1) for mask in children):
        return _merge(fees, sizes, parents, order, -1)
    return None


def _turned(parents: Sequence[int]) -> list[int]:
    """Return the mask of children of each transaction."""
    children = [0] * len(parents)
    for child, mask in enumerate(parents):
        for parent in positions(mask):
            children[parent] |= 1 << child
    return children


def _merge(
    fees: Sequence[int], sizes: Sequence[int], neighbours: Sequence[int], order: Iterable[int], sign: int
) -> list[int]:
    """Let each transaction take up the chunks next to it (its children's, or with sign -1 its parents') that are better
    (worse) than what it has, the best (worst) first. In `order` it comes after them; each is next to one transaction only.
    """
    chunks: dict[int, tuple[int, int, int, list[int]]] = {}
    for at in order:
        fee, size, mask = fees[at], sizes[at], 1 << at
        beside = list(positions(neighbours[at]))
        while beside:
            best, best_fee, best_size = -1, fee, size
            for other in beside:
                other_fee, other_size = chunks[other][:2]
                if (other_fee * best_size - best_fee * other_size) * sign > 0:
                    best, best_fee, best_size = other, other_fee, other_size
            if best < 0:
                break
            other_fee, other_size, other_mask, others = chunks.pop(best)
            fee += other_fee
            size += other_size
            mask |= other_mask
            beside.remove(best)
            beside += others
        chunks[at] = (fee, size, mask, beside)
    return [mask for _, _, mask, _ in chunks.values()]
