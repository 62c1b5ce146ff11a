"""Which transactions have to go so that no cluster is too large.

Owns: the choice, by the reference's rough but fast strategy. Never: removing them.
"""

from heapq import heapify, heappop, heappush
from itertools import pairwise

from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.layer import Group
from clarion.node.mempool.graph.limits import Limits
from clarion.node.mempool.graph.node import Node


class _Partition:
    """Transactions taken so far that hang together, as a tree of partitions that points to its root."""

    __slots__ = ("count", "root", "weight")

    def __init__(self, weight: int) -> None:
        self.count = 1
        self.weight = weight
        self.root = self

    def find(self) -> "_Partition":
        """Return the partition that this one has become part of."""
        here = self
        while here.root is not here:
            here.root = here.root.root
            here = here.root
        return here

    def join(self, other: "_Partition") -> "_Partition":
        """Make two roots one; return it."""
        large, small = (self, other) if self.count >= other.count else (other, self)
        small.root = large
        large.count += small.count
        large.weight += small.weight
        return large


def choose_to_trim(group: Group[Node], limits: Limits) -> list[Node]:
    """Return what must be removed of clusters that would be joined, always with all descendants; nothing if they fit.

    The clusters must be linearized. Their orders are merged: of the transactions that depend on nothing that is still to
    come, in their own order or by a dependency to be added, the one with the highest chunk rate comes next, then the one
    whose chunk weighs less. It is left out, and with it all that comes after, if it would make too large a cluster.
    """
    ranks = _ranks(group.clusters)
    if not limits.broken_by(len(ranks), sum([node.weight for node in ranks])):
        return []
    parents: dict[Node, list[Node]] = {node: [] for node in ranks}
    children: dict[Node, list[Node]] = {node: [] for node in ranks}
    ties = [each for cluster in group.clusters for each in _neighbours(cluster)]
    for parent, child in ties + group.dependencies:
        parents[child].append(parent)
        children[parent].append(child)
    waiting = {node: len(above) for node, above in parents.items()}
    ready = [(*ranks[node], node) for node, left in waiting.items() if not left]
    heapify(ready)
    taken: dict[Node, _Partition] = {}
    while ready:
        node = heappop(ready)[-1]
        partition = _Partition(node.weight)
        above = {id(root): root for root in [taken[parent].find() for parent in parents[node]]}.values()
        if limits.broken_by(
            1 + sum([each.count for each in above]), node.weight + sum([each.weight for each in above])
        ):
            continue
        taken[node] = partition
        for root in above:
            partition = partition.join(root)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, (*ranks[child], child))
    return [node for node in ranks if node not in taken]


def _ranks(clusters: list[Cluster[Node]]) -> dict[Node, tuple[int, int, int]]:
    """Return for each node its chunk's rate (negated) and weight, and a number, all of which sort the best first."""
    ranks: dict[Node, tuple[int, int, int]] = {}
    for cluster in clusters:
        for chunk in cluster.chunks or ():
            for node in chunk.nodes:
                ranks[node] = (chunk.negated_rate, chunk.weight, len(ranks))
    return ranks


def _neighbours(cluster: Cluster[Node]) -> list[tuple[Node, Node]]:
    """Return the pairs of transactions that follow each other in the cluster's order."""
    order = [cluster.nodes[at] for at in cluster.order]
    return list(pairwise(order))
