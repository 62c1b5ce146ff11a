"""Transactions that a client has this node broadcast.

Owns: what is looked at before the mempool is asked, and the errors that clients are told (the reference's
BroadcastTransaction). Never: judging (see `acceptor`), telling peers.
"""

from enum import Enum

from clarion.node.errors import ClarionError
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.outcome import in_pool
from clarion.node.mempool.accept.rejection import MaxFeeExceeded, TxRejected, TxRejection
from clarion.node.mempool.accept.result import AcceptResult
from clarion.node.mempool.accept.scene import Scene
from clarion.node.primitives.transaction import Transaction


class TransactionError(Enum):
    """Why a transaction is not broadcast; the value is the text for clients that goes with no details."""

    MISSING_INPUTS = "Inputs missing or spent"
    ALREADY_IN_UTXO_SET = "Transaction outputs already in utxo set"
    MEMPOOL_REJECTED = "Transaction rejected by mempool"
    MEMPOOL_ERROR = "Mempool internal error"
    MAX_FEE_EXCEEDED = "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)"
    MAX_BURN_EXCEEDED = "Unspendable output exceeds maximum configured by user (maxburnamount)"
    INVALID_PACKAGE = "Transaction rejected due to invalid package"


class BroadcastFailed(ClarionError):
    """A transaction is not broadcast. `str()` is what clients see."""

    def __init__(self, error: TransactionError, detail: str = "") -> None:
        super().__init__(detail or error.value)
        self.error = error


def broadcast_transaction(acceptor: Acceptor, tx: Transaction, max_base_fee_sat: int | None) -> None:
    """Take a client's transaction into the mempool, unless it is there, and note that peers must hear of it.

    A higher fee than `max_base_fee_sat` is refused; None allows any. Any thread but the chain's. Raises BroadcastFailed.
    """

    def look(scene: Scene) -> AcceptResult | None:
        if scene.has_outputs_of(tx):
            raise BroadcastFailed(TransactionError.ALREADY_IN_UTXO_SET)
        # Peers are told again of one that is in the pool, perhaps with another witness.
        entry = scene.pool.get(tx.txid)
        return in_pool(entry, tx.wtxid) if entry is not None else None

    try:
        result = acceptor.offer(tx, AcceptArgs.sent_by_client(acceptor.now(), max_base_fee_sat), look)
    except MaxFeeExceeded:
        raise BroadcastFailed(TransactionError.MAX_FEE_EXCEEDED) from None
    if result.error is not None:
        raise broadcast_failure(result.error)


def broadcast_failure(error: TxRejected) -> BroadcastFailed:
    """Return what a client is told of a rejection."""
    missing = error.rejection is TxRejection.TX_MISSING_INPUTS
    kind = TransactionError.MISSING_INPUTS if missing else TransactionError.MEMPOOL_REJECTED
    return BroadcastFailed(kind, str(error))
