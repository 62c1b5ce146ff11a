"""The order in which a cluster would be mined.

Owns: order and chunks of one cluster, to the last tie as the reference decides it. Never: other clusters.
"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple

from clarion.node.mempool.feefrac import scaled_ratio
from clarion.node.mempool.graph.bits import positions
from clarion.node.mempool.graph.chunk import Chunk, make_chunks
from clarion.node.mempool.graph.cluster import Cluster, Quality, share
from clarion.node.mempool.graph.forest import Forest
from clarion.node.mempool.graph.node import Node
from clarion.node.mempool.graph.post_linearize import post_linearize
from clarion.node.mempool.graph.tree import tree_chunks


def linearize(cluster: Cluster[Node], max_cost: int, random: Random) -> int:
    """Set the cluster's order and chunks, the best if that takes no more work than `max_cost`; return the work done.

    The order never gets worse. If it is optimal, it does not depend on `random` or on the order before.
    """
    if len(cluster.nodes) == 2:
        _linearize_pair(cluster)
        return 0
    parents = direct_parents(cluster.ancestors)
    fees = [node.fee_sat for node in cluster.nodes]
    sizes = [node.weight for node in cluster.nodes]
    chunks = tree_chunks(fees, sizes, parents, cluster.order)
    if chunks is not None:
        _arrange(cluster, parents, chunks)
        return 0
    forest = Forest(fees, sizes, parents, random)
    forest.load(cluster.order)
    if forest.optimize(max_cost):
        _arrange(cluster, parents, forest.smallest_chunks())
    else:
        order = [
            at
            for ranked in _ranked(cluster, parents, forest.chunks())
            for at in _by_rate(cluster, parents, ranked.mask)
        ]
        _cut(cluster, _post_linearized(cluster, order))
    return forest.cost


def direct_parents(ancestors: Sequence[int]) -> list[int]:
    """Return for each transaction the mask of the parents that are no ancestors of another of its parents."""
    result = []
    for at, mask in enumerate(ancestors):
        left = mask ^ 1 << at
        if left & (left - 1):
            parents = 0
            while left:
                # Parents mostly stand behind their own ancestors.
                other = left.bit_length() - 1
                left &= ~ancestors[other]
                parents = parents & ~ancestors[other] | 1 << other
            result.append(parents)
        else:
            result.append(left)
    return result


def extend(cluster: Cluster[Node], base: Cluster[Node], leaf: Cluster[Node]) -> None:
    """Set order and chunks of a cluster that is `base` with one transaction below it, if that comes last for certain.

    That is if base's order is the best and the transaction's rate is below that of its last chunk.
    """
    if (
        base.has_best_chunks
        and base.chunks
        and leaf.chunks
        and base.chunks[-1].negated_rate < leaf.chunks[0].negated_rate
    ):
        cluster.order = (*base.order, len(base.nodes))
        cluster.chunks = base.chunks + leaf.chunks


class _Ranked(NamedTuple):
    """A chunk that sorts as it comes as far as dependencies allow."""

    negated_rate: int
    weight: int
    last_key: bytes
    mask: int
    above: int
    """What it depends on directly."""
    fee_sat: int


def _arrange(cluster: Cluster[Node], parents: Sequence[int], chunks: list[int]) -> None:
    """Set the cluster's order to the best one, of which the smallest chunks are given as masks."""
    nodes = cluster.nodes
    order: list[int] = []
    made: list[Chunk[Node]] = []
    last_rate = None
    equal_rate_weight = 0
    for rate, weight, last_key, mask, _, fee in _ranked(cluster, parents, chunks):
        equal_rate_weight = equal_rate_weight + weight if rate == last_rate else weight
        last_rate = rate
        members = _order_within(cluster, parents, mask)
        order += members
        made.append(Chunk(rate, equal_rate_weight, last_key, tuple([nodes[at] for at in members]), fee, weight))
    cluster.order = share(order)
    cluster.chunks = tuple(made)
    cluster.quality = Quality.OPTIMAL


def _linearize_pair(cluster: Cluster[Node]) -> None:
    """Parent and child: one chunk if the child has the higher rate."""
    parent, child = (0, 1) if cluster.ancestors[0] == 1 else (1, 0)
    above, below = cluster.nodes[parent], cluster.nodes[child]
    together = below.fee_sat * above.weight > above.fee_sat * below.weight
    cluster.order = share((parent, child))
    cluster.chunks = make_chunks([(above, below)] if together else [(above,), (below,)])
    cluster.quality = Quality.OPTIMAL


def _ranked(cluster: Cluster[Node], parents: Sequence[int], chunks: list[int]) -> list[_Ranked]:
    """Return the chunks in order: of those that depend on nothing left, the one with the highest rate.

    Then the one with the smallest weight, then the one whose greatest order key is the smallest.
    """
    nodes = cluster.nodes
    ranked = []
    for mask in chunks:
        if mask & (mask - 1):
            fee = weight = above = 0
            last_key = b""
            for at in positions(mask):
                node = nodes[at]
                fee += node.fee_sat
                weight += node.weight
                above |= parents[at]
                last_key = max(last_key, node.order_key)
            above &= ~mask
        else:
            at = mask.bit_length() - 1
            node = nodes[at]
            fee, weight, above, last_key = node.fee_sat, node.weight, parents[at], node.order_key
        ranked.append(_Ranked(-scaled_ratio(fee, weight), weight, last_key, mask, above, fee))
    if len(ranked) > 1:
        ranked.sort()
        return _first_ready(ranked)
    return ranked


def _order_within(cluster: Cluster[Node], parents: Sequence[int], mask: int) -> list[int]:
    """Return the positions of a chunk in order."""
    members = list(positions(mask))
    if len(members) == 1:
        return members
    ancestors = cluster.ancestors
    members.sort(key=lambda at: ancestors[at].bit_count())
    if all(ancestors[after] >> before & 1 for before, after in pairwise(members)):
        # A chain has one order only.
        return members
    return _post_linearized(cluster, _by_rate(cluster, parents, mask))


def _by_rate(cluster: Cluster[Node], parents: Sequence[int], mask: int) -> list[int]:
    """Return a chunk's transactions in order: of those without parents left, the one with the highest rate.

    Then the one with the smallest weight, then the one with the smallest order key.
    """
    ranked = []
    for at in positions(mask):
        node = cluster.nodes[at]
        rate = -scaled_ratio(node.fee_sat, node.weight)
        # What lies outside the chunk has its place before it.
        ranked.append(_Ranked(rate, node.weight, node.order_key, 1 << at, parents[at] & mask, node.fee_sat))
    ranked.sort()
    return [each.mask.bit_length() - 1 for each in _first_ready(ranked)]


def _first_ready(ranked: list[_Ranked]) -> list[_Ranked]:
    """Return the chunks so that each time the first comes whose needs are done."""
    result = []
    done = 0
    while ranked:
        for index, each in enumerate(ranked):
            if not each.above & ~done:
                done |= each.mask
                result.append(each)
                del ranked[index]
                break
        else:
            raise AssertionError("dependencies go round in a circle")
    return result


def _post_linearized(cluster: Cluster[Node], order: Sequence[int]) -> list[int]:
    nodes = cluster.nodes
    return post_linearize(
        order,
        cluster.ancestors,
        cluster.descendants,
        {at: nodes[at].fee_sat for at in order},
        {at: nodes[at].weight for at in order},
    )


def _cut(cluster: Cluster[Node], order: Sequence[int]) -> None:
    """Set the cluster's order. Each chunk is the prefix of what is left that has the highest rate, the shortest such."""
    nodes = cluster.nodes
    chunks: list[tuple[int, int, list[Node]]] = []
    for at in order:
        node = nodes[at]
        fee, size, members = node.fee_sat, node.weight, [node]
        while chunks and fee * chunks[-1][1] > chunks[-1][0] * size:
            last_fee, last_size, last_members = chunks.pop()
            fee += last_fee
            size += last_size
            members = last_members + members
        chunks.append((fee, size, members))
    cluster.order = tuple(order)
    cluster.chunks = make_chunks([tuple(members) for _, _, members in chunks])
    cluster.quality = Quality.ROUGH
