"""The error that carries why a transaction was refused."""

from clarion.node.errors import TxInvalid
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection


def test_rejected_transaction_shows_reason_and_detail() -> None:
    rejected = TxRejected(TxRejection.TX_MEMPOOL_POLICY, "min relay fee not met", "0 < 11")
    assert isinstance(rejected, TxInvalid)
    assert rejected.rejection is TxRejection.TX_MEMPOOL_POLICY
    assert str(rejected) == "min relay fee not met, 0 < 11"


def test_rejected_transaction_without_detail_shows_the_reason_alone() -> None:
    assert str(TxRejected(TxRejection.TX_MISSING_INPUTS, "bad-txns-inputs-missingorspent")) == (
        "bad-txns-inputs-missingorspent"
    )
