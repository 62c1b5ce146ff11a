"""Clusters: transactions that hang together through dependencies, with the transitive closure of these.

Owns: making clusters out of clusters. A cluster's transactions and dependencies never change, so that a staged graph can
share the clusters that it leaves alone; a change makes new ones. Never: the best order (see `linearize`), limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import Generic

from clarion.node.mempool.graph.bits import positions
from clarion.node.mempool.graph.chunk import Chunk, single_chunk
from clarion.node.mempool.graph.node import Node

_ALONE = (1,)
_FIRST = (0,)
_SHARED_COUNT = 3
"""Up to this many transactions there are few ways to depend on each other, so that clusters can share what says how."""
_shared: dict[tuple[int, ...], tuple[int, ...]] = {}


class Quality(Enum):
    """What is known of a cluster's order."""

    STALE = 0
    """Nobody has asked for it since the cluster changed. It is valid, but only good if there are chunks already."""
    ROUGH = 1
    """It may not be the best."""
    OPTIMAL = 2
    """It is the best, and its chunks can't be smaller."""


class Cluster(Generic[Node]):
    """A cluster. Positions count in `nodes`; masks have bit `i` for position `i`.

    `ancestors` and `descendants` hold a mask for each position, itself included. `order` is a linearization: all
    positions, parents first. `chunks` cuts it up, or is None while `order` is not yet worked out. `quality` is stale until
    someone asks, as in the reference (it shows in the memory that is counted), even where the best chunks come for nothing.
    `sequence` tells the age of clusters. It and the positions are the reference's, since both show: transactions leave the
    pool, and are told to clients, in the order of clusters and positions.
    """

    __slots__ = ("ancestors", "chunks", "descendants", "nodes", "order", "quality", "sequence", "weight")

    def __init__(
        self,
        nodes: tuple[Node, ...],
        weight: int,
        ancestors: tuple[int, ...],
        descendants: tuple[int, ...],
        order: tuple[int, ...],
        sequence: int,
    ) -> None:
        self.nodes = nodes
        self.weight = weight
        self.ancestors = ancestors
        self.descendants = descendants
        self.order = order
        self.sequence = sequence
        self.chunks: tuple[Chunk[Node], ...] | None = None
        self.quality = Quality.STALE

    @property
    def has_best_chunks(self) -> bool:
        """Whether its chunks are those of the best order."""
        return self.chunks is not None and self.quality is not Quality.ROUGH

    def position(self, node: Node) -> int:
        """Return where the node stands."""
        return self.nodes.index(node)

    def pick(self, mask: int) -> list[Node]:
        """Return the nodes of a mask."""
        nodes = self.nodes
        return [nodes[at] for at in positions(mask)]


def single(node: Node, sequence: int) -> Cluster[Node]:
    """Return the cluster of one transaction alone."""
    nodes = (node,)
    cluster = Cluster(nodes, node.weight, _ALONE, _ALONE, _FIRST, sequence)
    cluster.chunks = (single_chunk(nodes),)
    cluster.quality = Quality.OPTIMAL
    return cluster


def joined(
    clusters: Sequence[Cluster[Node]], dependencies: Iterable[tuple[Node, Node]], sequence: int
) -> Cluster[Node]:
    """Return the clusters made one by dependencies (parent, child), which must not go round in a circle.

    The transactions of the first cluster stay where they are; those of the others follow as they are linearized.
    """
    nodes: list[Node] = []
    ancestors: list[int] = []
    descendants: list[int] = []
    order: list[int] = []
    for cluster in clusters:
        if not nodes:
            nodes += cluster.nodes
            ancestors += cluster.ancestors
            descendants += cluster.descendants
            order += cluster.order
        elif len(cluster.nodes) == 1:
            order.append(len(nodes))
            ancestors.append(1 << len(nodes))
            descendants.append(1 << len(nodes))
            nodes += cluster.nodes
        else:
            order += range(len(nodes), len(nodes) + len(cluster.nodes))
            place = {at: len(nodes) + new for new, at in enumerate(cluster.order)}
            nodes += [cluster.nodes[at] for at in cluster.order]
            ancestors += [_moved(cluster.ancestors[at], place) for at in cluster.order]
            descendants += [_moved(cluster.descendants[at], place) for at in cluster.order]
    where = {node: at for at, node in enumerate(nodes)}
    parents: dict[int, int] = {}
    for parent, child in dependencies:
        at = where[child]
        parents[at] = parents.get(at, 0) | 1 << where[parent]
    for child_at, mask in parents.items():
        _depend(ancestors, descendants, child_at, mask)
    return Cluster(
        tuple(nodes),
        sum([cluster.weight for cluster in clusters]),
        share(ancestors),
        share(descendants),
        share(_parents_first(order, ancestors)),
        sequence,
    )


def share(numbers: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers as a tuple, one and the same for many small clusters."""
    result = tuple(numbers)
    return _shared.setdefault(result, result) if len(result) <= _SHARED_COUNT else result


def _moved(mask: int, place: dict[int, int]) -> int:
    """Return a mask with its positions moved to other places; those that have none are left out."""
    return sum([1 << place[at] for at in positions(mask) if at in place])


def _depend(ancestors: list[int], descendants: list[int], child: int, parents: int) -> None:
    """Work dependencies of one child on a mask of parents into the closures."""
    gained = 0
    for at in positions(parents):
        gained |= ancestors[at]
    gained &= ~ancestors[child]
    below = descendants[child]
    for at in positions(gained):
        descendants[at] |= below
    if gained:
        for at in positions(below):
            ancestors[at] |= gained


def _parents_first(order: list[int], ancestors: Sequence[int]) -> list[int]:
    """Return the order with as little moved as it takes to have parents first."""
    done = 0
    result: list[int] = []
    for at in order:
        if done >> at & 1:
            continue
        missing = ancestors[at] & ~done
        if missing != 1 << at:
            result += sorted(positions(missing ^ 1 << at), key=lambda each: ancestors[each].bit_count())
        result.append(at)
        done |= missing
    return result


def without(cluster: Cluster[Node], gone: int, sequence: int, following: Iterator[int]) -> list[Cluster[Node]]:
    """Return what is left of a cluster when a mask of its transactions goes: one cluster for each part that holds together.

    What hung together only through a transaction that has both ancestors and descendants still does. A part that loses
    nothing but the last positions goes on under `sequence`; all others are new and take `following` numbers. If chunks go as
    a whole, those that stay are still the best.
    """
    chunk_masks = _chunk_masks(cluster) if cluster.has_best_chunks else []
    left = (1 << len(cluster.nodes)) - 1 & ~gone
    parts: list[Cluster[Node]] = []
    while left:
        mask = _connected(cluster, left)
        whole = mask == left and not parts and not mask & (mask + 1)
        left &= ~mask
        if not mask & (mask - 1):
            parts.append(single(cluster.nodes[mask.bit_length() - 1], next(following)))
            continue
        if whole:
            part = _part(cluster, list(positions(mask)), sequence)
        else:
            part = _part(cluster, [at for at in cluster.order if mask >> at & 1], next(following))
        _keep_chunks(part, cluster, mask, chunk_masks)
        parts.append(part)
    return parts


def _chunk_masks(cluster: Cluster[Node]) -> list[int]:
    """Return the chunks as masks, in order."""
    masks = []
    left = iter(cluster.order)
    for chunk in cluster.chunks or ():
        masks.append(sum([1 << at for at in islice(left, len(chunk.nodes))]))
    return masks


def _keep_chunks(part: Cluster[Node], cluster: Cluster[Node], kept: int, chunk_masks: list[int]) -> None:
    """Have the part keep its chunks of the best order, unless one was broken or several have the same rate."""
    chunks = []
    for chunk, mask in zip(cluster.chunks or (), chunk_masks, strict=False):
        if mask & kept:
            if mask & ~kept or chunk.equal_rate_weight != chunk.weight:
                return
            chunks.append(chunk)
    if chunks:
        part.chunks = tuple(chunks)


def _connected(cluster: Cluster[Node], within: int) -> int:
    """Return all in the mask `within` that holds together with its first position."""
    found = 0
    fresh = within & -within
    while fresh:
        found |= fresh
        reached = 0
        for at in positions(fresh):
            reached |= cluster.ancestors[at] | cluster.descendants[at]
        fresh = reached & within & ~found
    return found


def _part(cluster: Cluster[Node], kept: list[int], sequence: int) -> Cluster[Node]:
    """Return the transactions at some positions as a cluster of their own, in this order."""
    place = {at: new for new, at in enumerate(kept)}
    nodes = tuple([cluster.nodes[at] for at in kept])
    return Cluster(
        nodes,
        sum([node.weight for node in nodes]),
        share([_moved(cluster.ancestors[at], place) for at in kept]),
        share([_moved(cluster.descendants[at], place) for at in kept]),
        share([place[at] for at in cluster.order if at in place]),
        sequence,
    )
