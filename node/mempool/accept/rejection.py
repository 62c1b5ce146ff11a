"""Why a transaction was not taken into the mempool.

Owns: the kinds of rejection and the errors that say so. Never: the checks.
"""

from enum import Enum, auto

from clarion.node.errors import ClarionError, TxInvalid


class TxRejection(Enum):
    """What a rejection says about the transaction and its sender, by the reference's names (TxValidationResult)."""

    TX_CONSENSUS = auto()
    """It breaks a consensus rule."""
    TX_INPUTS_NOT_STANDARD = auto()
    """Its inputs, as far as the txid covers them, break policy."""
    TX_NOT_STANDARD = auto()
    """It breaks this node's policy in another way."""
    TX_MISSING_INPUTS = auto()
    """It spends outputs that are not known, or spent."""
    TX_PREMATURE_SPEND = auto()
    """It spends a coinbase too early, or its lock time lies ahead."""
    TX_WITNESS_MUTATED = auto()
    """Its witness is not standard, perhaps because somebody changed it."""
    TX_WITNESS_STRIPPED = auto()
    """Its witness is missing."""
    TX_CONFLICT = auto()
    """It is in the mempool or the chain already."""
    TX_MEMPOOL_POLICY = auto()
    """It breaks a limit on fees, sizes, relatives or replacement."""
    TX_NO_MEMPOOL = auto()
    """There is no mempool."""
    TX_RECONSIDERABLE = auto()
    """It fails alone but may pass in a package."""
    TX_UNKNOWN = auto()
    """It was not judged, since its package failed."""


class TxRejected(TxInvalid):
    """A transaction is not taken into the mempool; `rejection` is the kind of the reason."""

    def __init__(self, rejection: TxRejection, reject_reason: str, debug: str = "") -> None:
        super().__init__(reject_reason, debug)
        self.rejection = rejection


class MaxFeeExceeded(ClarionError):
    """A transaction would come in, but pays more than its sender said that it may."""
