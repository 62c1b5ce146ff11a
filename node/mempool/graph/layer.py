"""One level of the graph: its clusters, and the changes that wait until someone asks.

Owns: applying removals and dependencies, and which clusters have to be linearized. Never: the order over all chunks (see
`main_layer`), what is staged (see `staged_layer`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Generic

from clarion.node.mempool.graph.chunk import Chunk, single_chunk
from clarion.node.mempool.graph.cluster import Cluster, Quality, joined, single, without
from clarion.node.mempool.graph.limits import Limits
from clarion.node.mempool.graph.linearize import extend, linearize
from clarion.node.mempool.graph.node import Node

ACCEPTABLE_COST = 75_000
"""The work that goes into a cluster's order before it is made do with, about a nanosecond each in the reference."""


@dataclass(slots=True)
class Group(Generic[Node]):
    """Clusters that dependencies will join, or one that is too large by itself."""

    clusters: list[Cluster[Node]] = field(default_factory=list)
    dependencies: list[tuple[Node, Node]] = field(default_factory=list)


class Root(Generic[Node]):
    """A cluster in a tree of those that belong to one group; the tree's root stands for the group."""

    __slots__ = ("_above", "_rank", "sequence")

    def __init__(self, cluster: Cluster[Node]) -> None:
        self.sequence = cluster.sequence
        self._above = self
        self._rank = 0

    def find(self) -> Root[Node]:
        """Return the root of the tree."""
        here = self
        while here._above is not here:
            here._above = here._above._above
            here = here._above
        return here

    def join(self, other: Root[Node]) -> None:
        """Make two trees one, with the root of the higher one, or this one's."""
        high, low = self.find(), other.find()
        if high is low:
            return
        if high._rank < low._rank:
            high, low = low, high
        low._above = high
        high._rank += high._rank == low._rank


def _add_root(roots: dict[Cluster[Node], Root[Node]], cluster: Cluster[Node] | None) -> None:
    if cluster is not None and cluster not in roots:
        roots[cluster] = Root(cluster)


def _age(cluster: Cluster[Node]) -> int:
    return cluster.sequence


def _first(numbered: tuple[int, *tuple[object, ...]]) -> int:
    return numbered[0]


class Layer(ABC, Generic[Node]):
    """A level. Removals wait, then dependencies, which are not applied as long as they would make a cluster too large."""

    def __init__(self, limits: Limits, random: Random, sequences: Iterator[int]) -> None:
        self.limits = limits
        self.random = random
        self.sequences = sequences
        """Numbers for new clusters, on whichever level they are."""
        self.count = 0
        """Of the transactions, those whose removal waits included."""
        self.removals: list[Node] = []
        self.dependencies: list[tuple[Node, Node]] = []
        self.groups: list[Group[Node]] | None = []
        """What the dependencies will join; None if that is not worked out."""
        self.oversized: bool | None = False
        """Whether a cluster is or would be too large; None if that is not worked out."""
        self.too_heavy: dict[Node, None] = {}
        """The transactions that break the limits alone."""
        self.stale: dict[Cluster[Node], None] = {}
        """The clusters that are not linearized."""
        self.rough: dict[Cluster[Node], None] = {}
        """The clusters whose order may not be the best."""

    @abstractmethod
    def find(self, node: Node) -> Cluster[Node] | None:
        """Return the node's cluster on this level, perhaps taken over from the one below; None if it is not there."""

    @abstractmethod
    def own(self, node: Node) -> Cluster[Node] | None:
        """Return the node's cluster if it is of this very level."""

    @abstractmethod
    def sequence_of(self, cluster: Cluster[Node]) -> int:
        """Return the number under which a cluster goes on when it is changed on this level."""

    @abstractmethod
    def replace(self, old: Iterable[Cluster[Node]], new: Iterable[Cluster[Node]], gone: Iterable[Node]) -> None:
        """Put new clusters in the place of old ones, whose other nodes are gone."""

    @abstractmethod
    def linearized(self, cluster: Cluster[Node], before: tuple[Chunk[Node], ...] | None) -> None:
        """Take note of a cluster's new chunks, in the place of those before."""

    # --- changes that wait ------------------------------------------------------------------------------------------

    def add(self, node: Node) -> None:
        """Put in a node, in a cluster of its own."""
        self.replace((), (single(node, next(self.sequences)),), ())
        self.count += 1
        if node.weight > self.limits.max_weight:
            self.too_heavy[node] = None
            self.oversized = True
            self.groups = None

    def remove(self, node: Node) -> None:
        """Have a node removed, if it is there."""
        if self.find(node) is None:
            return
        self.removals.append(node)
        self.groups = None
        if self.oversized:
            self.oversized = None

    def depend(self, parent: Node, child: Node) -> None:
        """Have a dependency added, if both are there."""
        if parent is child or self.find(parent) is None or self.find(child) is None:
            return
        self.dependencies.append((parent, child))
        self.groups = None
        if self.oversized is False:
            self.oversized = None

    def fee_changed(self, node: Node) -> None:
        """Forget what was worked out with a node's old fee. At once: order and index must agree with the fees."""
        cluster = self.own(node)
        if cluster is None:
            return
        old = cluster.chunks
        if len(cluster.nodes) == 1:
            cluster.chunks = (single_chunk(cluster.nodes),)
        else:
            cluster.chunks = None
            cluster.quality = Quality.STALE
            self.stale[cluster] = None
            self.rough.pop(cluster, None)
        self.linearized(cluster, old)

    # --- applying them ----------------------------------------------------------------------------------------------

    def apply_removals(self) -> None:
        """Take out the nodes whose removal waits; their clusters may fall apart."""
        if not self.removals:
            return
        gone: dict[Cluster[Node], dict[Node, None]] = {}
        for node in self.removals:
            cluster = self.find(node)
            if cluster is not None:
                gone.setdefault(cluster, {})[node] = None
        self.removals = []
        numbered = [(self.sequence_of(cluster), cluster, nodes) for cluster, nodes in gone.items()]
        # The youngest is split up first, as in the reference, which shows in the numbers of the parts.
        for sequence, cluster, nodes in sorted(numbered, key=_first, reverse=True):
            self.count -= len(nodes)
            for node in nodes:
                self.too_heavy.pop(node, None)
            mask = sum([1 << cluster.position(node) for node in nodes])
            self.replace((cluster,), without(cluster, mask, sequence, self.sequences), nodes)

    def group(self) -> list[Group[Node]]:
        """Return the clusters that waiting dependencies will join; find out whether that makes one too large."""
        if self.groups is not None:
            return self.groups
        self.apply_removals()
        self.groups = self._grouped()
        self.dependencies = [each for group in self.groups for each in group.dependencies]
        self.oversized = any(
            self.limits.broken_by(
                sum([len(cluster.nodes) for cluster in group.clusters]),
                sum([cluster.weight for cluster in group.clusters]),
            )
            for group in self.groups
        )
        return self.groups

    def _grouped(self) -> list[Group[Node]]:
        """Return the groups, with the clusters of each by age: the reference's union-find, whose roots give their order."""
        if len(self.dependencies) == 1 and not self.too_heavy:
            parent, child = self.dependencies[0]
            above, below = self.find(parent), self.find(child)
            if above is None or below is None:
                return []
            return [Group(sorted({above, below}, key=_age), self.dependencies)]
        pairs = []
        roots: dict[Cluster[Node], Root[Node]] = {}
        for node in self.too_heavy:
            _add_root(roots, self.find(node))
        for parent, child in self.dependencies:
            above, below = self.find(parent), self.find(child)
            if above is not None and below is not None:
                _add_root(roots, above)
                _add_root(roots, below)
                pairs.append((below.sequence, above, below, (parent, child)))
        pairs.sort(key=_first)
        for _, above, below, _ in pairs:
            roots[above].join(roots[below])
        groups: dict[int, Group[Node]] = {}
        for cluster in sorted(roots, key=_age):
            groups.setdefault(roots[cluster].find().sequence, Group()).clusters.append(cluster)
        for _, _, below, dependency in pairs:
            groups[roots[below].find().sequence].dependencies.append(dependency)
        return [groups[sequence] for sequence in sorted(groups)]

    def is_oversized(self) -> bool:
        """Whether a cluster is or would be too large."""
        if self.oversized is None:
            self.group()
        return bool(self.oversized)

    def apply(self) -> None:
        """Apply all that waits. Dependencies go on waiting if the graph is oversized."""
        if self.groups == [] and not self.removals:
            return
        self.apply_removals()
        if self.is_oversized():
            return
        for group in self.group():
            self.replace(group.clusters, (self._joined(group),), ())
        self.dependencies = []
        self.groups = []

    def _joined(self, group: Group[Node]) -> Cluster[Node]:
        """Join a group: all go into the largest cluster, or the first of the largest, or a new one if each is single."""
        clusters = group.clusters.copy()
        sequences = [self.sequence_of(cluster) for cluster in clusters]
        largest = max(range(len(clusters)), key=lambda at: (len(clusters[at].nodes), -at))
        clusters[0], clusters[largest] = clusters[largest], clusters[0]
        is_new = len(clusters) > 1 and len(clusters[0].nodes) == 1
        cluster = joined(clusters, group.dependencies, next(self.sequences) if is_new else sequences[largest])
        if len(clusters) == 2:
            base, leaf = clusters
            if len(leaf.nodes) == 1 and all(child is leaf.nodes[0] for _, child in group.dependencies):
                extend(cluster, base, leaf)
        return cluster

    # --- linearization ----------------------------------------------------------------------------------------------

    def settle(self, cluster: Cluster[Node]) -> None:
        """Give a cluster of this very level an order that will do."""
        if cluster in self.stale:
            self.work_on(cluster, ACCEPTABLE_COST)

    def settle_all(self) -> None:
        """Apply all that waits, and give all clusters an order that will do. Nothing for an oversized graph."""
        self.apply()
        if self.stale and not self.oversized:
            for cluster in list(self.stale):
                self.work_on(cluster, ACCEPTABLE_COST)

    def work_on(self, cluster: Cluster[Node], max_cost: int) -> int:
        """Linearize a cluster; return the work done."""
        self.stale.pop(cluster, None)
        if cluster.has_best_chunks:
            cluster.quality = Quality.OPTIMAL
            return 0
        old = cluster.chunks
        cost = linearize(cluster, max_cost, self.random)
        if cluster.quality is Quality.OPTIMAL:
            self.rough.pop(cluster, None)
        else:
            self.rough[cluster] = None
        self.linearized(cluster, old)
        return cost

    def watch(self, cluster: Cluster[Node]) -> None:
        """Note a new cluster whose order is not known to be the best."""
        if cluster.quality is Quality.STALE:
            self.stale[cluster] = None
        elif cluster.quality is Quality.ROUGH:
            self.rough[cluster] = None

    def forget(self, cluster: Cluster[Node]) -> None:
        """Note that a cluster is no more."""
        self.stale.pop(cluster, None)
        self.rough.pop(cluster, None)
