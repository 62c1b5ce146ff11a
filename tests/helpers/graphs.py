"""Small transaction graphs for tests.

Owns: making nodes and dependencies from short descriptions. Never: expectations.
"""

from collections.abc import Iterable

from clarion.node.mempool.graph import GraphNode, Level, TxGraph

NO_WEIGHT_LIMIT = 10_000_000


class NamedNode(GraphNode):
    """A node that shows as its number; without an order key of its own it sorts by that."""

    __slots__ = ("number",)

    def __init__(self, number: int, fee_sat: int, weight: int, order_key: bytes | None = None) -> None:
        super().__init__(fee_sat, weight, number.to_bytes(4, "big") if order_key is None else order_key)
        self.number = number

    def __repr__(self) -> str:
        return f"node {self.number}"


def graph_of(
    feerates: Iterable[tuple[int, int]],
    dependencies: Iterable[tuple[int, int]] = (),
    *,
    max_count: int = 64,
    max_weight: int = NO_WEIGHT_LIMIT,
) -> tuple[TxGraph[NamedNode], list[NamedNode]]:
    """Return a graph and its nodes from (fee, weight) pairs and (parent, child) pairs of their numbers."""
    graph: TxGraph[NamedNode] = TxGraph(max_count, max_weight)
    nodes = [NamedNode(number, fee, weight) for number, (fee, weight) in enumerate(feerates)]
    for node in nodes:
        graph.add_transaction(node)
    for parent, child in dependencies:
        graph.add_dependency(nodes[parent], nodes[child])
    return graph, nodes


def mining_order(graph: TxGraph[NamedNode]) -> list[list[int]]:
    """Return the numbers of all chunks' nodes, best chunk first."""
    chunks = []
    with graph.block_builder() as builder:
        while (chunk := builder.current_chunk()) is not None:
            chunks.append(numbers(chunk[0]))
            builder.include()
    return chunks


def cluster_numbers(graph: TxGraph[NamedNode], node: NamedNode, level: Level = Level.MAIN) -> list[int]:
    """Return the numbers of a node's cluster in order."""
    return numbers(graph.cluster(node, level))


def numbers(nodes: Iterable[NamedNode]) -> list[int]:
    """Return the nodes' numbers."""
    return [node.number for node in nodes]
