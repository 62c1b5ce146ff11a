"""The transaction graph against a plain model: the best order of all, staging that leaves no trace, limits after a trim."""

from itertools import combinations
from random import Random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from clarion.node.mempool.feefrac import compare_chunks, compare_ratio
from clarion.node.mempool.graph import Level, TxGraph
from helpers.graphs import NO_WEIGHT_LIMIT, NamedNode, cluster_numbers, graph_of, mining_order
from helpers.naive_graph import NaiveGraph, feerate

fees = st.integers(-3, 12)
weights = st.integers(1, 4)


class Shape(NamedTuple):
    """Fee and weight of each transaction, and the numbers (modulo) of its parents among those before."""

    feerates: list[tuple[int, int]]
    parents: list[list[int]]

    def links(self) -> list[tuple[int, int]]:
        """Return (parent, child) pairs."""
        return [(number % child, child) for child, above in enumerate(self.parents) if child for number in above]


def shapes(most: int) -> st.SearchStrategy[Shape]:
    """Return graphs of at most so many transactions."""
    return st.lists(st.tuples(fees, weights, st.lists(st.integers(0, 50), max_size=3)), min_size=1, max_size=most).map(
        lambda rows: Shape([(fee, weight) for fee, weight, _ in rows], [above for _, _, above in rows])
    )


def naive(nodes: list[NamedNode], shape: Shape) -> NaiveGraph:
    """Return the model of a shape."""
    model = NaiveGraph()
    for child, node in enumerate(nodes):
        model.add(node, [nodes[parent] for parent, other in shape.links() if other == child])
    return model


@given(shapes(7))
@settings(max_examples=200)
def test_the_order_is_the_best_of_all(shape: Shape) -> None:
    graph, nodes = graph_of(shape.feerates, shape.links())
    model = naive(nodes, shape)
    assert graph.do_work()
    for cluster in model.clusters():
        order = graph.cluster(next(iter(cluster)), Level.MAIN)
        assert set(order) == cluster
        assert all(model.parents[node] <= set(order[:at]) for at, node in enumerate(order))
        chunks = [node.chunk for at, node in enumerate(order) if node.chunk is not order[at - 1].chunk or at == 0]
        diagram = [chunk.feerate for chunk in chunks if chunk is not None]
        assert compare_chunks(diagram, model.best_diagram(cluster)) == 0


@given(shapes(7))
@settings(max_examples=200)
def test_no_chunk_can_be_cut_at_its_own_rate(shape: Shape) -> None:
    graph, nodes = graph_of(shape.feerates, shape.links())
    model = naive(nodes, shape)
    for numbers in mining_order(graph):
        chunk = {nodes[number] for number in numbers}
        for count in range(1, len(chunk)):
            for part in map(set, combinations(chunk, count)):
                if all(model.ancestors(node) & chunk <= part for node in part):
                    assert compare_ratio(feerate(part), feerate(chunk)) < 0


@given(shapes(12), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_it_came_about(shape: Shape, random: Random) -> None:
    expected = mining_order(graph_of(shape.feerates, shape.links())[0])
    graph: TxGraph[NamedNode] = TxGraph(64, NO_WEIGHT_LIMIT)
    nodes = [NamedNode(number, 0, weight) for number, (_, weight) in enumerate(shape.feerates)]
    links = shape.links()
    random.shuffle(links)
    for node in reversed(nodes):
        graph.add_transaction(node)
    for parent, child in links:
        graph.add_dependency(nodes[parent], nodes[child])
        graph.do_work()
    for node in nodes:
        graph.set_transaction_fee(node, shape.feerates[node.number][0])
    assert mining_order(graph) == expected


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "drop", "stage", "abort", "commit"]),
        fees,
        weights,
        st.lists(st.integers(0, 50), max_size=3),
    ),
    max_size=25,
)


@given(steps)
@settings(max_examples=150)
def test_changes_staged_or_not_are_those_of_the_model(changes: list[tuple[str, int, int, list[int]]]) -> None:
    graph: TxGraph[NamedNode] = TxGraph(64, NO_WEIGHT_LIMIT)
    levels = [NaiveGraph()]
    for number, (kind, fee, weight, picks) in enumerate(changes):
        top = levels[-1]
        nodes = list(top.parents)
        if kind == "add":
            node = NamedNode(number, fee, weight)
            parents = [nodes[pick % len(nodes)] for pick in picks if nodes]
            graph.add_transaction(node)
            for parent in parents:
                graph.add_dependency(parent, node)
            top.add(node, parents)
        elif kind == "drop" and nodes:
            gone = graph.descendants(nodes[weight % len(nodes)], Level.TOP)
            for node in gone:
                graph.remove_transaction(node)
            top.remove(gone)
        elif kind == "stage" and len(levels) == 1:
            graph.start_staging()
            levels.append(top.copy())
        elif kind == "abort" and len(levels) == 2:
            graph.abort_staging()
            levels.pop()
        elif kind == "commit" and len(levels) == 2:
            graph.commit_staging()
            del levels[0]
    graph.sanity_check()
    for level, model in zip(Level, (levels[0], levels[-1]), strict=True):
        assert graph.transaction_count(level) == len(model.parents)
        for node in model.parents:
            assert set(graph.ancestors(node, level)) == model.ancestors(node)
            assert set(graph.descendants(node, level)) == model.descendants(node)
            assert set(graph.cluster(node, level)) == model.cluster(node)


@given(shapes(9), shapes(6))
def test_an_aborted_stage_leaves_no_trace(shape: Shape, staged: Shape) -> None:
    graph, nodes = graph_of(shape.feerates, shape.links())
    before = mining_order(graph), [cluster_numbers(graph, node) for node in nodes], graph.main_memory_usage()
    graph.start_staging()
    for node in graph.descendants(nodes[0], Level.TOP):
        graph.remove_transaction(node)
    for number, (fee, weight) in enumerate(staged.feerates):
        node = NamedNode(100 + number, fee, weight)
        graph.add_transaction(node)
        for pick in staged.parents[number]:
            graph.add_dependency(nodes[pick % len(nodes)], node)
    graph.main_staging_diagrams()
    graph.sanity_check()
    graph.abort_staging()
    assert before == (
        mining_order(graph),
        [cluster_numbers(graph, node) for node in nodes],
        graph.main_memory_usage(),
    )
    graph.sanity_check()


@given(shapes(20), st.integers(1, 6), st.integers(3, 15))
def test_a_trimmed_graph_keeps_the_limits(shape: Shape, max_count: int, max_weight: int) -> None:
    graph, nodes = graph_of(shape.feerates, shape.links(), max_count=max_count, max_weight=max_weight)
    model = naive(nodes, shape)
    small = all(len(each) <= max_count and feerate(each).size <= max_weight for each in model.clusters())
    assert graph.is_oversized(Level.TOP) is not small
    gone = set(graph.trim())
    assert bool(gone) is not small
    assert not graph.is_oversized(Level.TOP)
    assert all(model.descendants(node) <= gone for node in gone)
    graph.sanity_check()
    assert sorted(number for chunk in mining_order(graph) for number in chunk) == sorted(
        node.number for node in set(nodes) - gone
    )
