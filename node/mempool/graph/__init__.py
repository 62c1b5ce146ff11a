"""The graph of the pool's transactions: clusters, the order in which they would be mined, and what that is worth.

The graph knows fees, weights and who depends on whom; nothing of scripts, coins or policy.
"""

from clarion.node.mempool.graph.builder import BlockBuilder
from clarion.node.mempool.graph.graph import Level, TxGraph
from clarion.node.mempool.graph.limits import MAX_CLUSTER_COUNT_LIMIT
from clarion.node.mempool.graph.node import GraphNode

__all__ = ["MAX_CLUSTER_COUNT_LIMIT", "BlockBuilder", "GraphNode", "Level", "TxGraph"]
