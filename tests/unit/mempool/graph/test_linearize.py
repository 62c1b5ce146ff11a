"""Linearization: chunks of small clusters, bounded work, and what becomes of an order that is not the best."""

from random import Random

import pytest

from clarion.node.mempool.feefrac import compare_chunks
from clarion.node.mempool.graph.cluster import Cluster, Quality, joined, single
from clarion.node.mempool.graph.forest import Forest
from clarion.node.mempool.graph.linearize import direct_parents, linearize
from clarion.node.mempool.graph.post_linearize import post_linearize
from clarion.node.mempool.graph.tree import tree_chunks
from helpers.graphs import NamedNode, numbers


def cluster_of(feerates: list[tuple[int, int]], links: list[tuple[int, int]]) -> Cluster[NamedNode]:
    nodes = [NamedNode(number, fee, weight) for number, (fee, weight) in enumerate(feerates)]
    return joined(
        [single(node, node.number) for node in nodes], [(nodes[parent], nodes[child]) for parent, child in links], 0
    )


def chunk_numbers(cluster: Cluster[NamedNode]) -> list[list[int]]:
    return [numbers(chunk.nodes) for chunk in cluster.chunks or ()]


@pytest.mark.parametrize(
    ("feerates", "links", "chunks"),
    [
        ([(1, 1), (2, 1)], [(0, 1)], [[0, 1]]),
        ([(1, 1), (1, 1)], [(0, 1)], [[0], [1]]),
        ([(1, 1), (1, 1)], [(1, 0)], [[1], [0]]),
        ([(1, 1), (9, 1), (2, 1)], [(0, 1), (0, 2)], [[0, 1], [2]]),
        ([(1, 1), (2, 1), (9, 1)], [(0, 2), (1, 2)], [[1, 0, 2]]),
        ([(1, 1), (3, 1), (5, 1)], [(0, 2), (1, 2)], [[1], [0, 2]]),
        ([(0, 1), (0, 1), (5, 1), (5, 1)], [(0, 2), (1, 2), (0, 3), (1, 3)], [[0, 1, 2, 3]]),
        ([(0, 1), (0, 1), (5, 1), (20, 1)], [(0, 2), (1, 3), (0, 3)], [[0, 1, 3], [2]]),
    ],
)
def test_small_clusters(feerates: list[tuple[int, int]], links: list[tuple[int, int]], chunks: list[list[int]]) -> None:
    cluster = cluster_of(feerates, links)
    linearize(cluster, 1_000_000, Random(1))
    assert chunk_numbers(cluster) == chunks
    assert cluster.quality is Quality.OPTIMAL


def hard_cluster() -> Cluster[NamedNode]:
    random = Random(13)
    feerates = [(random.randrange(1000), random.randrange(1, 50)) for _ in range(40)]
    links = [(parent, child) for child in range(1, 40) for parent in random.sample(range(child), min(child, 2))]
    return cluster_of(feerates, links)


def test_without_work_the_order_is_valid_and_not_called_optimal() -> None:
    rough, best = hard_cluster(), hard_cluster()
    linearize(rough, 0, Random(1))
    assert linearize(best, 10**9, Random(1)) > 0
    assert (rough.quality, best.quality) == (Quality.ROUGH, Quality.OPTIMAL)
    diagrams = [[chunk.feerate for chunk in cluster.chunks or ()] for cluster in (best, rough)]
    assert compare_chunks(*diagrams) == 1
    for chunk, after in zip(rough.chunks or (), (rough.chunks or ())[1:], strict=False):
        assert chunk.negated_rate <= after.negated_rate


def test_the_best_order_is_the_same_from_any_start() -> None:
    orders = set()
    for seed in range(5):
        cluster = hard_cluster()
        linearize(cluster, seed * 10_000, Random(seed))
        linearize(cluster, 10**9, Random(-seed))
        orders.add(cluster.order)
    assert len(orders) == 1


@pytest.mark.parametrize("links", [[(0, 1), (0, 2), (1, 3), (1, 4)], [(4, 3), (3, 1), (2, 1), (1, 0)]])
def test_trees_need_no_search(links: list[tuple[int, int]]) -> None:
    for seed in range(50):
        random = Random(seed)
        cluster = cluster_of([(random.randrange(5), random.randrange(1, 4)) for _ in range(5)], links)
        parents = direct_parents(cluster.ancestors)
        fees, sizes = [node.fee_sat for node in cluster.nodes], [node.weight for node in cluster.nodes]
        forest = Forest(fees, sizes, parents, random)
        forest.load(cluster.order)
        assert forest.optimize(10**9)
        assert sorted(tree_chunks(fees, sizes, parents, cluster.order) or ()) == sorted(forest.smallest_chunks())


def test_a_diamond_is_no_tree() -> None:
    cluster = cluster_of([(1, 1)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)])
    assert direct_parents(cluster.ancestors) == [0, 1, 1, 6]
    assert tree_chunks([1] * 4, [1] * 4, [0, 1, 1, 6], cluster.order) is None


def test_post_linearization_moves_a_better_group_past_others() -> None:
    # 1 depends on 0, 3 on 2: the second pair pays more.
    ancestors, descendants = [1, 3, 4, 12], [3, 2, 12, 8]
    fees, sizes = {0: 1, 1: 2, 2: 1, 3: 9}, dict.fromkeys(range(4), 1)
    assert post_linearize([0, 1, 2, 3], ancestors, descendants, fees, sizes) == [2, 3, 0, 1]
    assert post_linearize([2, 3, 0, 1], ancestors, descendants, fees, sizes) == [2, 3, 0, 1]
