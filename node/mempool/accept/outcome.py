"""How what was found out about a transaction becomes a result.

Owns: which members of a result are there when. Never: the checks.
"""

from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.result import AcceptResult, ResultKind
from clarion.node.mempool.accept.workspace import Workspace
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feerate import FeeRate
from clarion.node.primitives.ids import Wtxid
from clarion.node.primitives.transaction import Transaction


def refused(error: TxRejected, ws: Workspace | None = None) -> AcceptResult:
    """Return the result of a refused transaction; with its rate where the fee was the reason."""
    if ws is None or error.rejection is not TxRejection.TX_RECONSIDERABLE:
        return AcceptResult(ResultKind.INVALID, error)
    return fee_refused(error, ws.feerate, [ws.tx.wtxid])


def fee_refused(error: TxRejected, feerate: FeeRate, wtxids: list[Wtxid]) -> AcceptResult:
    """Return the result of a transaction whose fee, or that of its package, is too low."""
    return AcceptResult(ResultKind.INVALID, error, effective_feerate=feerate, wtxids_fee_calculations=wtxids)


def accepted(
    ws: Workspace,
    replaced: list[Transaction],
    *,
    feerate: FeeRate | None = None,
    wtxids: list[Wtxid] | None = None,
) -> AcceptResult:
    """Return the result of an accepted transaction; rate and wtxids are its own unless a package's are given."""
    return AcceptResult(
        ResultKind.VALID,
        replaced=replaced,
        vsize=ws.entry.vsize,
        base_fee_sat=ws.base_fee_sat,
        effective_feerate=ws.feerate if feerate is None else feerate,
        wtxids_fee_calculations=[ws.tx.wtxid] if wtxids is None else wtxids,
    )


def in_pool(entry: MempoolEntry, wtxid: Wtxid) -> AcceptResult:
    """Return the result of a transaction that is in the pool already, perhaps with another witness than `wtxid`'s."""
    if entry.wtxid == wtxid:
        return AcceptResult(ResultKind.MEMPOOL_ENTRY, vsize=entry.vsize, base_fee_sat=entry.base_fee_sat)
    return AcceptResult(ResultKind.DIFFERENT_WITNESS, other_wtxid=entry.wtxid)
