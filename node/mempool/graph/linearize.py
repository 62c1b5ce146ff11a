"""The order in which a cluster would be mined.

Owns: order and chunks of one cluster, to the last tie as the reference decides it. Never: other clusters.
"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from clarion.node.mempool.feefrac import scaled_ratio
from clarion.node.mempool.graph.bits import positions
from clarion.node.mempool.graph.chunk import make_chunks
from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.forest import Forest
from clarion.node.mempool.graph.node import Node
from clarion.node.mempool.graph.post_linearize import post_linearize


def linearize(cluster: Cluster[Node], max_cost: int, random: Random) -> int:
    """Set the cluster's order and chunks, the best if that takes no more work than `max_cost`; return the work done.

    The order never gets worse. If it is optimal, it does not depend on `random` or on the order before.
    """
    if len(cluster.nodes) == 2:
        _linearize_pair(cluster)
        return 0
    parents = direct_parents(cluster.ancestors)
    forest = Forest([node.fee_sat for node in cluster.nodes], [node.weight for node in cluster.nodes], parents, random)
    forest.load(cluster.order)
    cluster.optimal = forest.optimize(max_cost)
    if cluster.optimal:
        groups = [
            _order_within(cluster, parents, mask) for mask in _order_chunks(cluster, parents, forest.smallest_chunks())
        ]
        groups = [group if _is_chain(cluster, group) else _post_linearized(cluster, group) for group in groups]
    else:
        order: list[int] = []
        for mask in _order_chunks(cluster, parents, forest.chunks()):
            order += _order_within(cluster, parents, mask)
        groups = _cut_into_chunks(cluster, _post_linearized(cluster, order))
    _set_groups(cluster, groups)
    return forest.cost


def direct_parents(ancestors: Sequence[int]) -> list[int]:
    """Return for each transaction the mask of the parents that are no ancestors of another of its parents."""
    result = []
    for at, mask in enumerate(ancestors):
        parents = mask ^ 1 << at
        if parents & (parents - 1):
            for other in positions(parents):
                if parents >> other & 1:
                    parents = parents & ~ancestors[other] | 1 << other
        result.append(parents)
    return result


def _set_groups(cluster: Cluster[Node], groups: Sequence[Sequence[int]]) -> None:
    nodes = cluster.nodes
    cluster.order = tuple([at for group in groups for at in group])
    cluster.chunks = make_chunks([tuple([nodes[at] for at in group]) for group in groups])


def _linearize_pair(cluster: Cluster[Node]) -> None:
    """Parent and child: one chunk if the child has the higher rate."""
    parent, child = (0, 1) if cluster.ancestors[0] == 1 else (1, 0)
    above, below = cluster.nodes[parent], cluster.nodes[child]
    together = below.fee_sat * above.weight > above.fee_sat * below.weight
    _set_groups(cluster, [[parent, child]] if together else [[parent], [child]])
    cluster.optimal = True


def _order_chunks(cluster: Cluster[Node], parents: Sequence[int], chunks: list[int]) -> list[int]:
    """Return the chunks (masks) in order: of those that depend on nothing left, the one with the highest rate.

    Then the one with the smallest weight, then the one whose greatest order key is the smallest.
    """
    if len(chunks) == 1:
        return chunks
    nodes = cluster.nodes
    ranked = []
    for mask in chunks:
        fee = weight = above = 0
        last = b""
        for at in positions(mask):
            node = nodes[at]
            fee += node.fee_sat
            weight += node.weight
            above |= parents[at]
            last = max(last, node.order_key)
        ranked.append((-scaled_ratio(fee, weight), weight, last, mask, above & ~mask))
    ranked.sort()
    return _first_ready([(entry[3], entry[4]) for entry in ranked], 0)


def _order_within(cluster: Cluster[Node], parents: Sequence[int], mask: int) -> list[int]:
    """Return a chunk's transactions in order: of those without parents left, the one with the highest rate.

    Then the one with the smallest weight, then the one with the smallest order key.
    """
    members = list(positions(mask))
    if len(members) == 1:
        return members
    nodes = cluster.nodes
    if len(members) == 2:
        first, second = members
        return members if parents[second] >> first & 1 else [second, first]

    def rank(at: int) -> tuple[int, int, bytes]:
        node = nodes[at]
        return -scaled_ratio(node.fee_sat, node.weight), node.weight, node.order_key

    members.sort(key=rank)
    # What lies outside the chunk has its place before it.
    ready = _first_ready([(1 << at, parents[at] & mask) for at in members], 0)
    return [single.bit_length() - 1 for single in ready]


def _first_ready(ranked: list[tuple[int, int]], done: int) -> list[int]:
    """Return the masks of (mask, needed mask) pairs, each time the first whose needs are done."""
    result = []
    while ranked:
        for index, (mask, needed) in enumerate(ranked):
            if not needed & ~done:
                result.append(mask)
                done |= mask
                del ranked[index]
                break
        else:
            raise AssertionError("dependencies go round in a circle")
    return result


def _is_chain(cluster: Cluster[Node], group: Sequence[int]) -> bool:
    """Whether each transaction descends from the one before, so that there is one order only."""
    ancestors = cluster.ancestors
    return all(ancestors[after] >> before & 1 for before, after in pairwise(group))


def _post_linearized(cluster: Cluster[Node], order: Sequence[int]) -> list[int]:
    nodes = cluster.nodes
    return post_linearize(
        order,
        cluster.ancestors,
        cluster.descendants,
        {at: nodes[at].fee_sat for at in order},
        {at: nodes[at].weight for at in order},
    )


def _cut_into_chunks(cluster: Cluster[Node], order: Sequence[int]) -> list[list[int]]:
    """Return the order in chunks: each the prefix of what is left that has the highest rate, and the shortest such."""
    nodes = cluster.nodes
    chunks: list[tuple[int, int, list[int]]] = []
    for at in order:
        fee, size, members = nodes[at].fee_sat, nodes[at].weight, [at]
        while chunks and fee * chunks[-1][1] > chunks[-1][0] * size:
            last_fee, last_size, last_members = chunks.pop()
            fee += last_fee
            size += last_size
            members = last_members + members
        chunks.append((fee, size, members))
    return [members for _, _, members in chunks]
