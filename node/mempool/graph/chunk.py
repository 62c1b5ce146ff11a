"""Chunks: transactions of one cluster that would be mined together, and the order over all of them.

Owns: a chunk's place among all chunks, and the sorted index. Never: which transactions belong together.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple

from clarion.node.mempool.feefrac import FeeFrac, scaled_ratio
from clarion.node.mempool.graph.node import Node

_LOAD = 512
"""A bucket of the index is split at twice this length."""


class Chunk(NamedTuple, Generic[Node]):
    """A chunk in its cluster's linearization. Sorts as it would be mined, the best first.

    The first three fields are that order, after the reference: the higher rate; then the smaller sum of weights of the
    chunks of this rate in this cluster, up to and with this one (which also keeps a cluster's own order); then the smaller
    `last_key`. No two chunks of a graph agree in all of them.
    """

    negated_rate: int
    """The rate, scaled so that integers order it exactly, negated."""
    equal_rate_weight: int
    last_key: bytes
    """The greatest order key of its transactions."""
    nodes: tuple[Node, ...]
    """Parents first."""
    fee_sat: int
    weight: int

    @property
    def feerate(self) -> FeeFrac:
        """The sum of fees and of weights."""
        return FeeFrac(self.fee_sat, self.weight)


def single_chunk(nodes: tuple[Node]) -> Chunk[Node]:
    """Return the chunk of a cluster that is one transaction."""
    (node,) = nodes
    fee, weight = node.fee_sat, node.weight
    return Chunk(-scaled_ratio(fee, weight), weight, node.order_key, nodes, fee, weight)


def make_chunks(groups: Sequence[tuple[Node, ...]]) -> tuple[Chunk[Node], ...]:
    """Return the chunks of a linearization that is cut into `groups`, whose rates must not rise."""
    chunks: list[Chunk[Node]] = []
    last_rate = None
    equal_rate_weight = 0
    for nodes in groups:
        if len(nodes) == 1:
            node = nodes[0]
            fee, weight, last_key = node.fee_sat, node.weight, node.order_key
        else:
            fee = sum([node.fee_sat for node in nodes])
            weight = sum([node.weight for node in nodes])
            last_key = max([node.order_key for node in nodes])
        rate = -scaled_ratio(fee, weight)
        equal_rate_weight = equal_rate_weight + weight if rate == last_rate else weight
        last_rate = rate
        chunks.append(Chunk(rate, equal_rate_weight, last_key, nodes, fee, weight))
    return tuple(chunks)


class ChunkIndex(Generic[Node]):
    """All chunks of the main graph in mining order: a sorted list in buckets, so that a change moves few pointers."""

    def __init__(self) -> None:
        self._buckets: list[list[Chunk[Node]]] = []
        self._lasts: list[Chunk[Node]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Chunk[Node]]:
        for bucket in self._buckets:
            yield from bucket

    def last(self) -> Chunk[Node] | None:
        """Return the chunk that would be mined last."""
        return self._lasts[-1] if self._lasts else None

    def add(self, chunk: Chunk[Node]) -> None:
        """Put in a chunk that is not there."""
        self._count += 1
        lasts = self._lasts
        at = bisect_left(lasts, chunk)
        if at == len(lasts):
            if not lasts:
                self._buckets.append([chunk])
                lasts.append(chunk)
                return
            at -= 1
            bucket = self._buckets[at]
            bucket.append(chunk)
            lasts[at] = chunk
        else:
            bucket = self._buckets[at]
            insort(bucket, chunk)
        if len(bucket) > 2 * _LOAD:
            self._buckets[at : at + 1] = [bucket[:_LOAD], bucket[_LOAD:]]
            lasts.insert(at, bucket[_LOAD - 1])

    def remove(self, chunk: Chunk[Any]) -> None:
        """Take out a chunk that is there."""
        self._count -= 1
        at = bisect_left(self._lasts, chunk)
        bucket = self._buckets[at]
        position = bisect_left(bucket, chunk)
        assert bucket[position] is chunk
        del bucket[position]
        if not bucket:
            del self._buckets[at], self._lasts[at]
        elif position == len(bucket):
            self._lasts[at] = bucket[-1]
