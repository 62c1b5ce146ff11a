"""The transaction graph, with changes that may still be discarded.

Owns: the interface. What it does is in the layers. Never: locks (the pool's lock must be held).
"""

from collections.abc import Iterable
from enum import Enum
from random import Random
from typing import Generic

from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.graph.builder import BlockBuilder
from clarion.node.mempool.graph.check import check_main, check_staged
from clarion.node.mempool.graph.chunk import Chunk
from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.layer import ACCEPTABLE_COST, Layer
from clarion.node.mempool.graph.limits import MAX_CLUSTER_COUNT_LIMIT, Limits
from clarion.node.mempool.graph.main_layer import MainLayer
from clarion.node.mempool.graph.node import Node
from clarion.node.mempool.graph.staged_layer import StagedLayer
from clarion.node.mempool.graph.trim import choose_to_trim

POST_CHANGE_COST = 5 * ACCEPTABLE_COST
"""The work that a change of the pool may bring to make orders better."""


class Level(Enum):
    """Which graph a question is about."""

    MAIN = 0
    TOP = 1
    """The staged graph if there is one, else the main one."""


class TxGraph(Generic[Node]):
    """Fees, weights and dependencies of transactions, and the order in which they would be mined.

    Behaves as the reference's class of this name. Changes go to the staged graph if there is one and are applied lazily.
    Questions about clusters, ancestors or order must not be asked of a graph that is oversized; `is_oversized`, `exists` and
    `transaction_count` may be. Only the transitive closure of dependencies is kept.
    """

    def __init__(self, max_cluster_count: int, max_cluster_weight: int) -> None:
        """A cluster may hold at most 64 transactions in any case."""
        assert 1 <= max_cluster_count <= MAX_CLUSTER_COUNT_LIMIT
        # Unpredictable, so that nobody can make clusters that are hard for everybody.
        self._main: MainLayer[Node] = MainLayer(Limits(max_cluster_count, max_cluster_weight), Random())
        self._staged: StagedLayer[Node] | None = None

    def _layer(self, level: Level) -> Layer[Node]:
        return self._main if self._staged is None or level is Level.MAIN else self._staged

    # --- staging ----------------------------------------------------------------------------------------------------

    @property
    def have_staging(self) -> bool:
        """Whether there is a staged graph."""
        return self._staged is not None

    def start_staging(self) -> None:
        """Make a staged graph, which is as if the main one was copied. There must be none."""
        assert self._staged is None
        self._main.apply()
        self._staged = StagedLayer(self._main)

    def abort_staging(self) -> None:
        """Drop the staged graph. Fees that were set meanwhile stay."""
        assert self._staged is not None
        self._staged = None

    def commit_staging(self) -> None:
        """Put the staged graph in the main one's place."""
        assert self._staged is not None
        self._staged.commit(self._main)
        self._staged = None

    # --- changes ----------------------------------------------------------------------------------------------------

    def add_transaction(self, node: Node) -> None:
        """Put in a node that is in no graph, without dependencies."""
        self._layer(Level.TOP).add(node)

    def remove_transaction(self, node: Node) -> None:
        """Remove a node; nothing if it is not there. Its descendants or its ancestors must go too, now or before."""
        self._layer(Level.TOP).remove(node)

    def add_dependency(self, parent: Node, child: Node) -> None:
        """Note that `child` spends `parent`; nothing if either is not there. The parent must not descend from the child."""
        self._layer(Level.TOP).depend(parent, child)

    def set_transaction_fee(self, node: Node, fee_sat: int) -> None:
        """Change a node's fee, in both graphs if there are two."""
        if node.fee_sat == fee_sat:
            return
        node.fee_sat = fee_sat
        self._main.fee_changed(node)
        if self._staged is not None:
            self._staged.fee_changed(node)

    def trim(self) -> list[Node]:
        """Remove transactions with their descendants until the top graph is not oversized; return those removed."""
        layer = self._layer(Level.TOP)
        if layer.oversized is False:
            return []
        removed: list[Node] = []
        groups = layer.group()
        if layer.oversized:
            for group in groups:
                for cluster in group.clusters:
                    self._settle(cluster)
                removed += choose_to_trim(group, layer.limits)
            for node in removed:
                layer.remove(node)
            layer.oversized = False
        return removed

    def do_work(self, max_cost: int = POST_CHANGE_COST) -> bool:
        """Linearize what needs it, within about `max_cost` units of work; return whether all orders are the best.

        With 0 this only asks. Oversized graphs are left alone, and the main one while a block builder is at work.
        """
        layers = [layer for layer in (self._staged, self._main) if layer is not None and self._may_work(layer)]
        done = 0
        for layer in layers:
            for cluster in list(layer.stale):
                if done >= max_cost:
                    return False
                done += layer.work_on(cluster, min(max_cost - done, ACCEPTABLE_COST))
        for layer in layers:
            for cluster in list(layer.rough):
                if done >= max_cost:
                    return False
                done += layer.work_on(cluster, max_cost - done)
        return not any(layer.stale or layer.rough for layer in layers)

    def _may_work(self, layer: Layer[Node]) -> bool:
        if layer is self._main and self._main.observers:
            return False
        layer.apply()
        return not layer.oversized

    # --- questions --------------------------------------------------------------------------------------------------

    def is_oversized(self, level: Level) -> bool:
        """Whether a cluster has too many transactions or too much weight."""
        return self._layer(level).is_oversized()

    def exists(self, node: Node, level: Level) -> bool:
        """Whether the node is in the graph."""
        layer = self._layer(level)
        layer.apply_removals()
        return layer.find(node) is not None

    def transaction_count(self, level: Level) -> int:
        """Return how many nodes the graph has."""
        layer = self._layer(level)
        layer.apply_removals()
        return layer.count

    def main_chunk_feerate(self, node: Node) -> FeeFrac:
        """Return fee and weight of the node's chunk in the main graph; nothing and nothing if it is not there."""
        chunk = self._chunk(node)
        return FeeFrac() if chunk is None else chunk.feerate

    def cluster(self, node: Node, level: Level) -> list[Node]:
        """Return the node's cluster in the order in which it would be mined; empty if it is not there."""
        cluster = self._find(node, level)
        if cluster is None:
            return []
        self._settle(cluster)
        return [cluster.nodes[at] for at in cluster.order]

    def ancestors(self, node: Node, level: Level) -> list[Node]:
        """Return the node and its ancestors; empty if it is not there."""
        return self.ancestors_union((node,), level)

    def descendants(self, node: Node, level: Level) -> list[Node]:
        """Return the node and its descendants; empty if it is not there."""
        return self.descendants_union((node,), level)

    def ancestors_union(self, nodes: Iterable[Node], level: Level) -> list[Node]:
        """Return the nodes that are there and their ancestors, each once, by the age of their clusters."""
        masks: dict[Cluster[Node], int] = {}
        for node in nodes:
            cluster = self._find(node, level)
            if cluster is not None:
                masks[cluster] = masks.get(cluster, 0) | cluster.ancestors[cluster.position(node)]
        return _picked(masks)

    def descendants_union(self, nodes: Iterable[Node], level: Level) -> list[Node]:
        """Return the nodes that are there and their descendants, each once, by the age of their clusters.

        In this order the reference takes them out of the pool, and tells it.
        """
        masks: dict[Cluster[Node], int] = {}
        for node in nodes:
            cluster = self._find(node, level)
            if cluster is not None:
                masks[cluster] = masks.get(cluster, 0) | cluster.descendants[cluster.position(node)]
        return _picked(masks)

    def count_distinct_clusters(self, nodes: Iterable[Node], level: Level) -> int:
        """Return in how many clusters the nodes are; those that are not there don't count."""
        return len({self._find(node, level) for node in nodes} - {None})

    def main_order_key(self, node: Node) -> tuple[Chunk[Node], int]:
        """Return a key by which nodes of the main graph sort as they would be mined. Valid until the graph changes."""
        chunk = self._chunk(node)
        assert chunk is not None
        return chunk, chunk.nodes.index(node)

    def compare_main_order(self, left: Node, right: Node) -> int:
        """Return -1, 0 or 1 as `left` would be mined before `right`, is it, or after it. Both must be in the main graph."""
        if left is right:
            return 0
        return -1 if self.main_order_key(left) < self.main_order_key(right) else 1

    def main_staging_diagrams(self) -> tuple[list[FeeFrac], list[FeeFrac]]:
        """Return the chunks of the clusters that staging changes, before and after, best first. There must be staging."""
        staged = self._staged
        assert staged is not None
        self._main.settle_all()
        staged.settle_all()
        return _diagram(staged.displaced), _diagram(staged.clusters)

    def block_builder(self) -> BlockBuilder[Node]:
        """Return a walk through the main graph's chunks. It must be closed before that graph is changed."""
        self._main.settle_all()
        return BlockBuilder(self._main)

    def worst_main_chunk(self) -> tuple[list[Node], FeeFrac]:
        """Return the chunk that would be mined last, children first, with its rate; nothing if the graph is empty."""
        self._main.settle_all()
        chunk = self._main.index.last()
        return ([], FeeFrac()) if chunk is None else (list(reversed(chunk.nodes)), chunk.feerate)

    def main_memory_usage(self) -> int:
        """Return the bytes that the reference would say that the main graph takes."""
        self._main.apply()
        return self._main.usage_bytes()

    def sanity_check(self) -> None:
        """Raise AssertionError if the graph contradicts itself. Slow: it looks at everything."""
        check_main(self._main)
        if self._staged is not None:
            check_staged(self._staged)

    def _find(self, node: Node, level: Level) -> Cluster[Node] | None:
        layer = self._layer(level)
        layer.apply()
        return layer.find(node)

    def _chunk(self, node: Node) -> Chunk[Node] | None:
        self._main.apply()
        cluster = node.cluster
        if cluster is None:
            return None
        self._main.settle(cluster)
        return node.chunk

    def _settle(self, cluster: Cluster[Node]) -> None:
        """Give a cluster of either level an order that will do."""
        if self._staged is not None:
            self._staged.settle(cluster)
        self._main.settle(cluster)


def _picked(masks: dict[Cluster[Node], int]) -> list[Node]:
    by_age = sorted(masks, key=lambda cluster: cluster.sequence)
    return [node for cluster in by_age for node in cluster.pick(masks[cluster])]


def _diagram(clusters: Iterable[Cluster[Node]]) -> list[FeeFrac]:
    chunks = [chunk for cluster in clusters for chunk in cluster.chunks or ()]
    chunks.sort(key=lambda chunk: (chunk.negated_rate, chunk.weight))
    return [chunk.feerate for chunk in chunks]
