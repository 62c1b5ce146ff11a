"""A transaction in the pool, with what was worked out when it came in.

Owns: the values. Never: which transactions are in the pool, or how they hang together (see `graph`).
"""

from clarion.node.mempool.graph import GraphNode
from clarion.node.mempool.lock_points import LockPoints
from clarion.node.primitives.ids import Txid, Wtxid
from clarion.node.primitives.transaction import WITNESS_SCALE_FACTOR, Transaction


class MempoolEntry(GraphNode):
    """One transaction of the pool. The node of the graph holds its modified fee and its adjusted weight.

    Everything but the modified fee and the lock points is immutable. Slots and properties, for there may be hundreds
    of thousands.
    """

    __slots__ = (
        "base_fee_sat",
        "height",
        "lock_points",
        "sequence",
        "sigop_cost",
        "spends_coinbase",
        "time",
        "tx",
        "usage_bytes",
    )

    def __init__(
        self,
        tx: Transaction,
        fee_sat: int,
        *,
        weight: int,
        time: int,
        height: int,
        sequence: int,
        spends_coinbase: bool,
        sigop_cost: int,
        lock_points: LockPoints,
        usage_bytes: int,
    ) -> None:
        """`weight` is adjusted by signature operations, `time` is when it came (Unix seconds), at tip `height`.

        `sequence` is the pool's number at that moment, 0 for what a reorganisation brought back. `usage_bytes` is what
        the transaction takes in the reference's memory.
        """
        super().__init__(fee_sat, weight, tx.txid)
        self.tx = tx
        self.base_fee_sat = fee_sat
        self.time = time
        self.height = height
        self.sequence = sequence
        self.spends_coinbase = spends_coinbase
        self.sigop_cost = sigop_cost
        self.lock_points = lock_points
        self.usage_bytes = usage_bytes

    @property
    def txid(self) -> Txid:
        """The transaction's id."""
        return self.tx.txid

    @property
    def wtxid(self) -> Wtxid:
        """The id that its witness is part of."""
        return self.tx.wtxid

    @property
    def modified_fee_sat(self) -> int:
        """The fee with what `prioritisetransaction` added, in satoshis."""
        return self.fee_sat

    @property
    def vsize(self) -> int:
        """The virtual size that policy counts: by weight or signature operations, whichever is more."""
        return -(-self.weight // WITNESS_SCALE_FACTOR)
