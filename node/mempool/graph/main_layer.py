"""The main graph: what nodes point to, with all chunks in mining order.

Owns: the chunk index and the reference's count of memory. Never: staged changes.
"""

from collections.abc import Iterable
from itertools import count
from random import Random

from clarion.node.mempool.graph.chunk import Chunk, ChunkIndex
from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.layer import Layer
from clarion.node.mempool.graph.limits import MAX_CLUSTER_COUNT_LIMIT, Limits
from clarion.node.mempool.graph.node import Node
from clarion.node.mempool.memory_usage import malloc_usage

_ENTRY_USAGE = 80
_CHUNK_USAGE = malloc_usage(40)
_CLUSTER_USAGE = [0, malloc_usage(48) + 8] + [
    malloc_usage(104) + 8 + 2 * malloc_usage(4 * number) + malloc_usage(32 * number)
    for number in range(2, MAX_CLUSTER_COUNT_LIMIT + 1)
]
"""Bytes that the reference's structures take on 64-bit Linux, a cluster's by its count of transactions."""


class MainLayer(Layer[Node]):
    """The level that is always there."""

    def __init__(self, limits: Limits, random: Random) -> None:
        super().__init__(limits, random, count())
        self.index: ChunkIndex[Node] = ChunkIndex()
        self.observers = 0
        """Block builders that read the index: no change is allowed while there are any."""
        self._cluster_usage = 0

    def find(self, node: Node) -> Cluster[Node] | None:
        return node.cluster

    def own(self, node: Node) -> Cluster[Node] | None:
        return node.cluster

    def sequence_of(self, cluster: Cluster[Node]) -> int:
        return cluster.sequence

    def replace(self, old: Iterable[Cluster[Node]], new: Iterable[Cluster[Node]], gone: Iterable[Node]) -> None:
        assert not self.observers, "the graph is being read"
        kept: set[int] = set()
        for cluster in new:
            kept.update(map(id, cluster.chunks or ()))
        held: set[int] = set()
        for cluster in old:
            self.forget(cluster)
            self._cluster_usage -= _CLUSTER_USAGE[len(cluster.nodes)]
            for chunk in cluster.chunks or ():
                if id(chunk) in kept:
                    held.add(id(chunk))
                else:
                    self.index.remove(chunk)
        for node in gone:
            node.cluster = node.chunk = None
        for cluster in new:
            self.watch(cluster)
            self._cluster_usage += _CLUSTER_USAGE[len(cluster.nodes)]
            for node in cluster.nodes:
                node.cluster = cluster
            for chunk in cluster.chunks or ():
                if id(chunk) not in held:
                    self._enter(chunk)

    def linearized(self, cluster: Cluster[Node], before: tuple[Chunk[Node], ...] | None) -> None:
        assert not self.observers, "the graph is being read"
        for chunk in before or ():
            self.index.remove(chunk)
        for chunk in cluster.chunks or ():
            self._enter(chunk)

    def _enter(self, chunk: Chunk[Node]) -> None:
        self.index.add(chunk)
        for node in chunk.nodes:
            node.chunk = chunk

    def usage_bytes(self) -> int:
        """Return what the reference would say that the graph takes, for what is applied."""
        chunks = len(self.index) - sum([len(cluster.chunks or ()) for cluster in self.stale])
        return self._cluster_usage + _ENTRY_USAGE * self.count + _CHUNK_USAGE * chunks
