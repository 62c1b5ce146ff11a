"""TxGraph: chunks as transactions come and go, staging, and what it answers about clusters."""

import pytest

from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.graph import Level
from helpers.graphs import NamedNode, cluster_numbers, graph_of, mining_order, numbers

CHAIN = [(2, 10), (1, 10), (2, 10), (4, 10)]
LINKS = [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(("count", "chunks"), [(1, [[0]]), (2, [[0], [1]]), (3, [[0], [1, 2]]), (4, [[0, 1, 2, 3]])])
def test_a_chain_is_cut_into_chunks(count: int, chunks: list[list[int]]) -> None:
    graph, nodes = graph_of(CHAIN[:count], LINKS[: count - 1])
    assert mining_order(graph) == chunks
    worst, rate = graph.worst_main_chunk()
    assert numbers(worst) == chunks[-1][::-1]
    assert rate == graph.main_chunk_feerate(nodes[-1])
    assert rate == FeeFrac(sum(node.fee_sat for node in worst), sum(node.weight for node in worst))
    graph.sanity_check()


def test_removal_leaves_grandparents_connected_until_they_go() -> None:
    graph, nodes = graph_of(CHAIN, LINKS)
    assert cluster_numbers(graph, nodes[3]) == [0, 1, 2, 3]
    graph.remove_transaction(nodes[1])
    assert graph.transaction_count(Level.TOP) == 3
    assert cluster_numbers(graph, nodes[3]) == [0, 2, 3]
    for node in nodes[2:]:
        graph.remove_transaction(node)
        graph.remove_transaction(node)
    assert mining_order(graph) == [[0]]
    assert not graph.exists(nodes[1], Level.MAIN)
    graph.sanity_check()


def test_staging_is_seen_on_top_and_committed() -> None:
    graph, (first,) = graph_of([(2, 10)])
    second = NamedNode(1, 1, 10)
    graph.start_staging()
    graph.add_transaction(second)
    graph.add_dependency(first, second)
    assert [graph.transaction_count(level) for level in Level] == [1, 2]
    assert [cluster_numbers(graph, first, level) for level in Level] == [[0], [0, 1]]
    graph.commit_staging()
    assert not graph.have_staging
    assert cluster_numbers(graph, first) == [0, 1]
    graph.start_staging()
    graph.remove_transaction(second)
    assert [graph.exists(second, level) for level in Level] == [True, False]
    graph.commit_staging()
    assert graph.transaction_count(Level.MAIN) == 1
    graph.sanity_check()


def test_aborted_staging_changes_nothing() -> None:
    graph, nodes = graph_of(CHAIN, LINKS)
    before = mining_order(graph)
    graph.start_staging()
    graph.remove_transaction(nodes[3])
    graph.add_transaction(other := NamedNode(9, 100, 10))
    graph.add_dependency(nodes[2], other)
    assert cluster_numbers(graph, nodes[0], Level.TOP) == [0, 1, 2, 9]
    graph.sanity_check()
    graph.abort_staging()
    assert mining_order(graph) == before
    assert not graph.exists(other, Level.TOP)
    graph.sanity_check()


def test_diagrams_show_only_what_changes() -> None:
    graph, nodes = graph_of([(10, 10), (50, 10), (3, 10)], [(0, 1)])
    graph.start_staging()
    graph.remove_transaction(nodes[1])
    graph.add_transaction(other := NamedNode(3, 100, 20))
    graph.add_dependency(nodes[0], other)
    assert graph.main_staging_diagrams() == ([FeeFrac(60, 20)], [FeeFrac(110, 30)])
    graph.abort_staging()
    graph.start_staging()
    graph.remove_transaction(nodes[1])
    assert graph.main_staging_diagrams() == ([FeeFrac(60, 20)], [FeeFrac(10, 10)])


def test_ancestors_descendants_and_unions() -> None:
    graph, nodes = graph_of([(1, 10)] * 5, [(0, 2), (1, 2), (2, 3)])
    assert sorted(numbers(graph.ancestors(nodes[2], Level.MAIN))) == [0, 1, 2]
    assert sorted(numbers(graph.descendants(nodes[1], Level.MAIN))) == [1, 2, 3]
    assert sorted(numbers(graph.ancestors_union([nodes[0], nodes[4], nodes[3]], Level.MAIN))) == [0, 1, 2, 3, 4]
    assert sorted(numbers(graph.descendants_union([nodes[3], nodes[2]], Level.MAIN))) == [2, 3]
    assert graph.count_distinct_clusters([nodes[0], nodes[3], nodes[4], NamedNode(7, 1, 1)], Level.MAIN) == 2


def test_a_node_that_is_not_there_has_nothing() -> None:
    graph, _ = graph_of(CHAIN, LINKS)
    stranger = NamedNode(9, 1, 10)
    assert graph.cluster(stranger, Level.MAIN) == graph.ancestors(stranger, Level.TOP) == []
    assert graph.main_chunk_feerate(stranger).is_empty
    graph.remove_transaction(stranger)
    graph.add_dependency(stranger, stranger)
    assert graph.transaction_count(Level.MAIN) == 4


def test_an_empty_graph_has_no_worst_chunk() -> None:
    graph, _ = graph_of([])
    assert graph.worst_main_chunk() == ([], FeeFrac())
    assert mining_order(graph) == []
    assert graph.main_memory_usage() == 0


def test_a_changed_fee_moves_chunks_in_both_graphs() -> None:
    graph, nodes = graph_of([(10, 10), (20, 10), (1, 10)], [(0, 2)])
    graph.start_staging()
    graph.remove_transaction(nodes[2])
    graph.set_transaction_fee(nodes[0], 30)
    assert mining_order(graph) == [[0], [1], [2]]
    graph.commit_staging()
    graph.set_transaction_fee(nodes[0], -5)
    assert mining_order(graph) == [[1], [0]]
    graph.sanity_check()


def test_descendants_come_by_the_age_of_their_clusters_and_their_places_in_them() -> None:
    graph, nodes = graph_of([(5, 10)] * 5)
    graph.add_dependency(nodes[3], nodes[0])
    # Two singles make a new cluster, which is younger than those that were left alone.
    assert numbers(graph.descendants_union((nodes[3], nodes[1], nodes[2]), Level.MAIN)) == [1, 2, 0, 3]
    graph.add_dependency(nodes[4], nodes[0])
    # The larger cluster goes on; the single follows in it.
    assert numbers(graph.ancestors(nodes[0], Level.MAIN)) == [0, 3, 4]
    graph.sanity_check()


def test_a_cluster_that_only_loses_its_last_keeps_its_age_and_any_other_becomes_young() -> None:
    graph, nodes = graph_of([(9, 10), (8, 10), (7, 10), (6, 10), (5, 10), (4, 10)], [(0, 1), (1, 2), (3, 4), (4, 5)])
    roots = (nodes[3], nodes[0])
    assert numbers(graph.descendants_union(roots, Level.MAIN)) == [0, 1, 2, 3, 4, 5]
    graph.remove_transaction(nodes[2])
    assert numbers(graph.descendants_union(roots, Level.MAIN)) == [0, 1, 3, 4, 5]
    graph.remove_transaction(nodes[0])
    assert numbers(graph.descendants_union((nodes[1], nodes[3]), Level.MAIN)) == [3, 4, 5, 1]
    graph.sanity_check()


def test_what_staging_changes_becomes_young() -> None:
    graph, nodes = graph_of([(5, 10)] * 4, [(0, 1)])
    graph.start_staging()
    graph.add_transaction(child := NamedNode(9, 5, 10))
    graph.add_dependency(nodes[1], child)
    graph.commit_staging()
    assert numbers(graph.descendants_union((nodes[0], nodes[2], nodes[3]), Level.MAIN)) == [2, 3, 0, 1, 9]
    graph.sanity_check()


def test_a_dependency_within_a_cluster_and_one_whose_end_goes() -> None:
    graph, nodes = graph_of([(5, 10)] * 4, [(0, 1), (1, 2)])
    assert cluster_numbers(graph, nodes[0]) == [0, 1, 2]
    graph.add_dependency(nodes[0], nodes[2])
    assert sorted(numbers(graph.ancestors(nodes[2], Level.MAIN))) == [0, 1, 2]
    graph.add_dependency(nodes[2], nodes[3])
    graph.remove_transaction(nodes[3])
    assert cluster_numbers(graph, nodes[2]) == [0, 1, 2]
    graph.sanity_check()
