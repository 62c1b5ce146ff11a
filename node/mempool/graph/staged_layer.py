"""A staged graph: what it would change in the main graph, cluster by cluster.

Owns: the clusters that differ. Never: those that don't, which are the main graph's.
"""

from collections.abc import Iterable

from clarion.node.mempool.graph.chunk import Chunk
from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.layer import Layer
from clarion.node.mempool.graph.main_layer import MainLayer
from clarion.node.mempool.graph.node import Node


class StagedLayer(Layer[Node]):
    """A level on top of the main one, which must not change meanwhile. To drop it is to abort it."""

    def __init__(self, main: MainLayer[Node]) -> None:
        """Main must have applied all that can be; what waits there because it is too large waits here too."""
        super().__init__(main.limits, main.random, main.sequences)
        self._main = main
        self.count = main.count
        self.dependencies = main.dependencies.copy()
        self.groups = main.groups
        self.oversized = main.oversized
        self.too_heavy = main.too_heavy.copy()
        self.clusters: dict[Cluster[Node], None] = {}
        """The clusters that are new, in the order in which they came."""
        self.displaced: dict[Cluster[Node], None] = {}
        """The main graph's clusters that are no more."""
        self._moved: dict[Node, Cluster[Node] | None] = {}
        """Where nodes are that are not in their main cluster; None if removed."""

    def find(self, node: Node) -> Cluster[Node] | None:
        if node in self._moved:
            return self._moved[node]
        return node.cluster

    def own(self, node: Node) -> Cluster[Node] | None:
        return self._moved.get(node)

    def sequence_of(self, cluster: Cluster[Node]) -> int:
        if cluster in self.clusters:
            return cluster.sequence
        # A copy of the main graph's, which is linearized before.
        self._main.settle(cluster)
        return next(self.sequences)

    def replace(self, old: Iterable[Cluster[Node]], new: Iterable[Cluster[Node]], gone: Iterable[Node]) -> None:
        for cluster in old:
            if cluster in self.clusters:
                del self.clusters[cluster]
                self.forget(cluster)
            else:
                self.displaced[cluster] = None
        for node in gone:
            self._moved[node] = None
        for cluster in new:
            self.clusters[cluster] = None
            self.watch(cluster)
            for node in cluster.nodes:
                self._moved[node] = cluster

    def linearized(self, cluster: Cluster[Node], before: tuple[Chunk[Node], ...] | None) -> None:
        """Nothing but the cluster itself knows its chunks."""

    def commit(self, main: MainLayer[Node]) -> None:
        """Make the main graph what this one is."""
        self.apply_removals()
        main.replace(self.displaced, self.clusters, [node for node, cluster in self._moved.items() if cluster is None])
        main.count = self.count
        main.removals = self.removals
        main.dependencies = self.dependencies
        main.groups = self.groups
        main.oversized = self.oversized
        main.too_heavy = self.too_heavy
