"""A transaction as the graph sees it.

Owns: fee, weight, and where the transaction stands in the main graph. Never: the transaction itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from clarion.node.mempool.graph.chunk import Chunk
    from clarion.node.mempool.graph.cluster import Cluster


class GraphNode:
    """Base of what is put into a graph; a node belongs to one graph at most.

    `fee_sat` changes only through `TxGraph.set_transaction_fee`, `weight` (positive) never. `order_key` decides where
    nothing else does, the smaller first, and must be unique: the txid in internal byte order, as the reference compares it.
    """

    __slots__ = ("chunk", "cluster", "fee_sat", "order_key", "weight")

    def __init__(self, fee_sat: int, weight: int, order_key: bytes) -> None:
        self.fee_sat = fee_sat
        self.weight = weight
        self.order_key = order_key
        self.cluster: Cluster[Any] | None = None
        """The cluster in the main graph; the graph's own."""
        self.chunk: Chunk[Any] | None = None
        """The chunk in the main graph as far as that cluster is linearized; the graph's own."""


Node = TypeVar("Node", bound=GraphNode)
