"""Oversized graphs, and what is trimmed from them. The cases are the reference's."""

from clarion.node.mempool.graph import Level
from helpers.graphs import NamedNode, cluster_numbers, graph_of, mining_order, numbers


def test_too_many_or_too_heavy() -> None:
    graph, nodes = graph_of([(1, 100)] * 4, [(0, 1), (1, 2)], max_count=3, max_weight=300)
    assert not graph.is_oversized(Level.TOP)
    graph.add_dependency(nodes[2], nodes[3])
    assert graph.is_oversized(Level.TOP)
    graph.remove_transaction(nodes[3])
    assert not graph.is_oversized(Level.TOP)
    graph.add_transaction(heavy := NamedNode(4, 1, 201))
    graph.add_dependency(nodes[0], heavy)
    assert graph.is_oversized(Level.MAIN)


def test_staging_is_oversized_alone() -> None:
    graph, nodes = graph_of([(1, 100)] * 3, [(0, 1)], max_count=2)
    graph.start_staging()
    graph.add_dependency(nodes[1], nodes[2])
    assert [graph.is_oversized(level) for level in Level] == [False, True]
    assert numbers(graph.trim()) == [2]
    assert not graph.is_oversized(Level.TOP)
    assert graph.trim() == []
    graph.commit_staging()
    assert mining_order(graph) == [[0], [1]]
    graph.sanity_check()


def test_zigzag_breaks_in_the_middle() -> None:
    tops, bottoms = 50, 49
    links = [(bottoms + at + side, at) for at in range(bottoms) for side in (0, 1)]
    feerates = [(200 - at, 100) for at in range(bottoms)] + [(100 - at, 100) for at in range(tops)]
    graph, _ = graph_of(feerates, links, max_count=50)
    assert graph.is_oversized(Level.TOP)
    assert numbers(graph.trim()) == [bottoms // 2]
    assert graph.transaction_count(Level.TOP) == 98
    graph.sanity_check()


def test_flower_loses_what_holds_it_together() -> None:
    graph, nodes = graph_of(
        [(1, 100)] + [(500 + at, 100) for at in range(100)], [(at, 0) for at in range(1, 101)], max_count=50
    )
    assert numbers(graph.trim()) == [0]
    assert not graph.is_oversized(Level.TOP)
    assert cluster_numbers(graph, nodes[7]) == [7]


def test_transactions_that_are_too_heavy_alone_go() -> None:
    heavy = {at for at in range(100) if at % 20 == 0 or at == 88}
    graph, _ = graph_of([(500 + at, 100_001 if at in heavy else 100) for at in range(100)], max_weight=100_000)
    assert set(numbers(graph.trim())) == heavy
    assert graph.transaction_count(Level.TOP) == 94
    graph.sanity_check()


def test_descendants_of_what_is_trimmed_go_too() -> None:
    graph, nodes = graph_of([(10, 10), (9, 10), (8, 10), (7, 10)], [(2, 3)], max_count=3)
    graph.add_dependency(nodes[0], nodes[1])
    graph.add_dependency(nodes[1], nodes[2])
    assert sorted(numbers(graph.trim())) == [3]
    graph.add_dependency(nodes[2], deep := NamedNode(4, 1, 1))
    assert not graph.exists(deep, Level.MAIN)
    assert cluster_numbers(graph, nodes[0]) == [0, 1, 2]


def test_an_oversized_main_graph_hands_its_state_on_to_staging() -> None:
    graph, nodes = graph_of([(3, 10), (2, 10), (1, 10)], [(0, 1), (1, 2)], max_count=2)
    graph.start_staging()
    assert graph.is_oversized(Level.MAIN)
    graph.remove_transaction(nodes[2])
    assert not graph.is_oversized(Level.TOP)
    assert cluster_numbers(graph, nodes[0], Level.TOP) == [0, 1]
    graph.commit_staging()
    assert not graph.is_oversized(Level.MAIN)
    assert mining_order(graph) == [[0], [1]]
    graph.sanity_check()
