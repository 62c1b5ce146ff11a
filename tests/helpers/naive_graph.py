"""A transaction graph that is slow and plain, to hold the real one against.

Owns: clusters by walking, orders by trying all of them. Never: more than some seven transactions in a cluster.
"""

from collections.abc import Iterable, Iterator

from clarion.node.mempool.feefrac import FeeFrac, compare_chunks, compare_ratio
from helpers.graphs import NamedNode


class NaiveGraph:
    """Who depends on whom, as sets. Copied whole for staging."""

    def __init__(self, parents: dict[NamedNode, set[NamedNode]] | None = None) -> None:
        self.parents = {} if parents is None else {node: above.copy() for node, above in parents.items()}

    def copy(self) -> "NaiveGraph":
        """Return a graph that can be changed by itself."""
        return NaiveGraph(self.parents)

    def add(self, node: NamedNode, parents: Iterable[NamedNode]) -> None:
        """Put in a node with its parents."""
        self.parents[node] = set(parents)

    def remove(self, nodes: Iterable[NamedNode]) -> None:
        """Take nodes out."""
        for node in nodes:
            del self.parents[node]
        for above in self.parents.values():
            above.difference_update(nodes)

    def ancestors(self, node: NamedNode) -> set[NamedNode]:
        """Return the node and its ancestors."""
        return {node}.union(*(self.ancestors(parent) for parent in self.parents[node]))

    def descendants(self, node: NamedNode) -> set[NamedNode]:
        """Return the node and its descendants."""
        return {other for other in self.parents if node in self.ancestors(other)}

    def cluster(self, node: NamedNode) -> set[NamedNode]:
        """Return all that holds together with the node."""
        found: set[NamedNode] = set()
        todo = [node]
        while todo:
            here = todo.pop()
            if here not in found:
                found.add(here)
                todo += self.parents[here] | self.descendants(here)
        return found

    def clusters(self) -> list[set[NamedNode]]:
        """Return all clusters."""
        left = set(self.parents)
        result = []
        while left:
            result.append(self.cluster(next(iter(left))))
            left -= result[-1]
        return result

    def orders(self, nodes: set[NamedNode]) -> Iterator[list[NamedNode]]:
        """Yield every order of the nodes that has parents first."""
        if not nodes:
            yield []
        for last in nodes:
            if not any(last in self.parents[other] for other in nodes):
                for order in self.orders(nodes - {last}):
                    yield [*order, last]

    def best_diagram(self, nodes: set[NamedNode]) -> list[FeeFrac]:
        """Return the diagram that no order of the nodes can beat."""
        best: list[FeeFrac] = []
        for order in self.orders(nodes):
            diagram = diagram_of(order)
            if not best or compare_chunks(diagram, best) == 1:
                best = diagram
        return best


def feerate(nodes: Iterable[NamedNode]) -> FeeFrac:
    """Return the sums of fees and weights."""
    return sum((FeeFrac(node.fee_sat, node.weight) for node in nodes), FeeFrac())


def diagram_of(order: list[NamedNode]) -> list[FeeFrac]:
    """Return an order's chunks: the prefix with the highest rate first, the longest of them."""
    chunks = []
    while order:
        lengths = range(1, len(order) + 1)
        best = lengths[0]
        for length in lengths:
            if compare_ratio(feerate(order[:length]), feerate(order[:best])) >= 0:
                best = length
        chunks.append(feerate(order[:best]))
        order = order[best:]
    return chunks
