"""Made-up histories of transactions and blocks for the fee estimator.

Owns: a repeatable way to feed an estimator. Never: what it should answer.
"""

import random

from clarion.node.mempool.fees.estimator import FeeEstimator
from clarion.node.primitives.ids import Txid

FEE_STEP_SAT = 2000
VSIZE = 180


class FeeHistory:
    """Ten kinds of transactions, the n-th paying n times FEE_STEP_SAT, and blocks that take some of them."""

    def __init__(self, estimator: FeeEstimator) -> None:
        self.estimator = estimator
        self.height = 0
        self._count = 0
        self._waiting: list[list[Txid]] = [[] for _ in range(10)]

    def arrive(self, each: int = 4) -> None:
        """Let so many transactions of each kind enter the pool."""
        for kind in range(10):
            for _ in range(each):
                self._count += 1
                txid = Txid(self._count.to_bytes(32, "big"))
                self.estimator.process_transaction(txid, FEE_STEP_SAT * (kind + 1), VSIZE, self.height, valid=True)
                self._waiting[kind].append(txid)

    def mine(self, kinds: int) -> None:
        """Let a block take all waiting transactions of the best-paying kinds."""
        self.height += 1
        taken = self._waiting[10 - kinds :] if kinds else []
        self.estimator.process_block(self.height, [txid for kind in reversed(taken) for txid in kind])
        for kind in taken:
            kind.clear()

    def leave(self, source: random.Random, share: float) -> None:
        """Let about that share of the waiting transactions leave the pool unmined."""
        for kind in self._waiting:
            for txid in [txid for txid in kind if source.random() < share]:
                self.estimator.remove_transaction(txid)
                kind.remove(txid)


def usual_history() -> FeeHistory:
    """Return 200 blocks of which each takes the best kind, and nine of ten the second best, and so on."""
    history = FeeHistory(FeeEstimator())
    for number in range(200):
        history.arrive()
        history.mine(number % 10 + 1)
    return history
