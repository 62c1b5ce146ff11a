"""Results of offering transactions to the mempool."""

from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.result import AcceptResult, PackageError, PackageRejection, ResultKind


def test_only_an_accepted_transaction_is_valid() -> None:
    refused = TxRejected(TxRejection.TX_CONSENSUS, "coinbase")
    assert AcceptResult(ResultKind.VALID).valid
    assert not AcceptResult(ResultKind.MEMPOOL_ENTRY).valid
    assert not AcceptResult(ResultKind.INVALID, refused).valid


def test_package_error_shows_reason_and_detail() -> None:
    assert str(PackageError(PackageRejection.PCKG_TX, "transaction failed")) == "transaction failed"
    detailed = PackageError(PackageRejection.PCKG_POLICY, "TRUC-violation", "tx is too big")
    assert str(detailed) == "TRUC-violation, tx is too big"
