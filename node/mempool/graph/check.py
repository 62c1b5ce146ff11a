"""Whether a graph agrees with itself, for -checkmempool and tests.

Owns: the checks. Never: repairing anything.
"""

from itertools import pairwise

from clarion.node.mempool.graph.bits import positions
from clarion.node.mempool.graph.chunk import Chunk, make_chunks
from clarion.node.mempool.graph.cluster import Cluster, Quality
from clarion.node.mempool.graph.layer import Layer
from clarion.node.mempool.graph.main_layer import MainLayer
from clarion.node.mempool.graph.node import Node
from clarion.node.mempool.graph.staged_layer import StagedLayer


def check_main(main: MainLayer[Node]) -> None:
    """Raise AssertionError if clusters, nodes and index of the main graph don't fit together."""
    indexed = list(main.index)
    assert len(indexed) == len(main.index)
    assert indexed == sorted(indexed)
    assert len({chunk[:3] for chunk in indexed}) == len(indexed)
    clusters = {chunk.nodes[0].cluster: None for chunk in indexed} | main.stale
    assert None not in clusters
    count = 0
    chunks: list[Chunk[Node]] = []
    for cluster in clusters:
        assert cluster is not None
        _check_cluster(cluster, main)
        count += len(cluster.nodes)
        chunks += cluster.chunks or ()
        assert all(node.cluster is cluster for node in cluster.nodes)
        assert all(node.chunk is chunk for chunk in cluster.chunks or () for node in chunk.nodes)
    assert count == main.count
    assert sorted(chunks) == indexed


def check_staged(staged: StagedLayer[Node]) -> None:
    """Raise AssertionError if the staged clusters don't fit together, or onto the main graph."""
    seen: set[Node] = set()
    for cluster in staged.clusters:
        _check_cluster(cluster, staged)
        assert seen.isdisjoint(cluster.nodes)
        seen.update(cluster.nodes)
        assert all(staged.own(node) is cluster for node in cluster.nodes)
    for cluster in staged.displaced:
        assert all(node.cluster is cluster for node in cluster.nodes)
        assert all(staged.find(node) is not cluster for node in cluster.nodes)


def _check_cluster(cluster: Cluster[Node], layer: Layer[Node]) -> None:
    count = len(cluster.nodes)
    assert cluster.weight == sum(node.weight for node in cluster.nodes)
    assert count <= layer.limits.max_count
    assert cluster.weight <= layer.limits.max_weight or count == 1
    for at in range(count):
        assert cluster.ancestors[at] >> at & 1
        for other in positions(cluster.ancestors[at]):
            assert cluster.descendants[other] >> at & 1
            assert not cluster.ancestors[other] & ~cluster.ancestors[at]
            assert other == at or not cluster.ancestors[other] >> at & 1
    _check_order(cluster)
    assert (cluster.quality is Quality.STALE) == (cluster in layer.stale)
    assert (cluster.quality is Quality.ROUGH) == (cluster in layer.rough)
    assert cluster.chunks is not None or cluster in layer.stale


def _check_order(cluster: Cluster[Node]) -> None:
    done = 0
    for at in cluster.order:
        assert not cluster.ancestors[at] & ~done & ~(1 << at)
        done |= 1 << at
    assert done == (1 << len(cluster.nodes)) - 1
    if cluster.chunks is not None:
        assert [node for chunk in cluster.chunks for node in chunk.nodes] == [cluster.nodes[at] for at in cluster.order]
        assert cluster.chunks == make_chunks([chunk.nodes for chunk in cluster.chunks])
        assert all(a.negated_rate <= b.negated_rate for a, b in pairwise(cluster.chunks))
