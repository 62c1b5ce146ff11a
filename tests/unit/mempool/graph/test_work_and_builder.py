"""Bounded work, block builders, and orders that outlive a change."""

from random import Random

import pytest

from clarion.node.mempool.graph import Level
from helpers.graphs import NamedNode, cluster_numbers, graph_of, mining_order, numbers


def test_work_is_bounded_and_can_be_asked_for() -> None:
    random = Random(3)
    links = [(parent, child) for child in range(1, 40) for parent in random.sample(range(child), min(child, 2))]
    graph, nodes = graph_of([(random.randrange(999), random.randrange(1, 60)) for _ in range(40)], links)
    assert not graph.do_work(0)
    assert not graph.do_work(1)
    rough = cluster_numbers(graph, nodes[0])
    graph.sanity_check()
    assert graph.do_work(10**9)
    assert graph.do_work(0)
    assert cluster_numbers(graph, nodes[0]) != rough
    graph.sanity_check()


def test_skipping_a_chunk_skips_its_cluster() -> None:
    graph, _ = graph_of([(9, 1), (8, 1), (7, 1), (1, 1)], [(0, 2), (1, 3)])
    with graph.block_builder() as builder:
        seen = []
        while (chunk := builder.current_chunk()) is not None:
            seen += numbers(chunk[0])
            if seen == [0]:
                builder.skip()
            else:
                builder.include()
        builder.skip()
    assert seen == [0, 1, 3]


def test_the_graph_stands_still_under_a_builder() -> None:
    graph, nodes = graph_of([(9, 1)])
    builder = graph.block_builder()
    with pytest.raises(AssertionError):
        graph.add_transaction(NamedNode(1, 1, 1))
    graph.start_staging()
    graph.remove_transaction(nodes[0])
    assert graph.transaction_count(Level.TOP) == 0
    builder.close()
    builder.close()
    graph.commit_staging()
    assert mining_order(graph) == []


def test_chunks_that_stay_whole_are_kept() -> None:
    graph, nodes = graph_of([(9, 1), (2, 1), (5, 1), (1, 1), (1, 2)], [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert mining_order(graph) == [[0], [1, 2], [3], [4]]
    kept = nodes[1].chunk, nodes[3].chunk
    graph.remove_transaction(nodes[0])
    graph.remove_transaction(nodes[4])
    assert cluster_numbers(graph, nodes[1]) == [1, 2, 3]
    assert (nodes[1].chunk, nodes[3].chunk) == kept
    graph.remove_transaction(nodes[1])
    assert mining_order(graph) == [[2], [3]]
    graph.sanity_check()


def test_a_worse_child_is_put_at_the_end() -> None:
    graph, nodes = graph_of([(9, 1), (5, 1)], [(0, 1)])
    assert mining_order(graph) == [[0], [1]]
    kept = nodes[0].chunk
    graph.add_transaction(child := NamedNode(2, 1, 1))
    graph.add_dependency(nodes[0], child)
    assert mining_order(graph) == [[0], [1], [2]]
    assert nodes[0].chunk is kept
    graph.sanity_check()


def test_memory_is_counted_as_the_reference_does() -> None:
    graph, nodes = graph_of([(5, 10), (50, 10)])
    assert graph.main_memory_usage() == 2 * 216
    graph.add_dependency(*nodes)
    assert mining_order(graph) == [[0, 1]]
    assert graph.main_memory_usage() == 504
    graph.start_staging()
    graph.remove_transaction(nodes[1])
    assert graph.main_memory_usage() == 504
    graph.commit_staging()
    assert graph.main_memory_usage() == 216
