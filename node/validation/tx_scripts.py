"""Script checks of single transactions on their way into the mempool.

Owns: checking under policy's flags and under those of the next block, who checks, and what is remembered. Never: which
flags these are, what becomes of the transaction.
"""

from typing import NamedTuple

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.ids import Wtxid
from clarion.node.primitives.script import is_p2pkh, is_p2sh, is_p2tr, is_p2wpkh
from clarion.node.primitives.transaction import TxIn
from clarion.node.script.spending_tx import SpendingTx
from clarion.node.validation.batches import NO_FAILURE
from clarion.node.validation.check_queue import CheckQueue, ScriptFailure
from clarion.node.validation.inline_queue import InlineQueue, SpendUnit, interpret, take_short_cuts
from clarion.node.validation.pipeline import INLINE_CHECKS
from clarion.node.validation.script_cache import ScriptCache

FEW_INPUTS = 4
"""So many signatures take less than the way to another thread and back."""

_P2WPKH_SIZE = 22


class TxFailure(NamedTuple):
    """The first input whose script fails. `consensus`: it passes under policy's flags, which is a bug of ours."""

    failure: ScriptFailure
    consensus: bool = False


class TxScripts:
    """Checks transactions on their callers' threads, large ones in the worker processes that check blocks.

    What passes is kept in the script cache, so that a block with the transaction runs no script again. Safe from any
    thread.
    """

    def __init__(self, checks: CheckQueue, cache: ScriptCache) -> None:
        self._checks = checks
        self._cache = cache

    @property
    def has_workers(self) -> bool:
        """Whether there are other cores to check on, so that it pays to leave the chain thread for it."""
        return not isinstance(self._checks, InlineQueue)

    def takes_long(self, job: ScriptJob) -> bool:
        """Whether checking may take longer than handing it to another thread and back."""
        tx = job.tx
        return len(tx.inputs) > FEW_INPUTS or not all(map(_is_one_check, tx.inputs, job.spent_outputs))

    def known(self, job: ScriptJob, policy_flags: int, block_flags: int) -> bool:
        """Whether the transaction is known to pass under both."""
        contains, wtxid = self._cache.contains, job.tx.wtxid
        return contains(wtxid, policy_flags) and contains(wtxid, block_flags)

    def check(self, job: ScriptJob, policy_flags: int, block_flags: int) -> TxFailure | None:
        """Run the scripts of one transaction, first under policy's flags, and remember that they pass.

        `block_flags` are checked too: the cache that blocks rely on must not depend on policy's flags being stricter.
        """
        if self.known(job, policy_flags, block_flags):
            return None
        inline = not self.has_workers or len(job.spent_outputs) < INLINE_CHECKS
        failed = (
            _check_inline(job, policy_flags, block_flags) if inline else self._check(job, policy_flags, block_flags)
        )
        if failed is None:
            self._cache.add(job.tx.wtxid, policy_flags)
            self._cache.add(job.tx.wtxid, block_flags)
        return failed

    def entered(self, wtxid: Wtxid, policy_flags: int) -> None:
        """Forget what only acceptance asks for: the transaction is in the mempool."""
        self._cache.discard([wtxid], policy_flags)

    def _check(self, job: ScriptJob, policy_flags: int, block_flags: int) -> TxFailure | None:
        failure = self._checks.check([job], policy_flags)
        if failure is not None:
            return TxFailure(failure)
        failure = self._checks.check([job], block_flags)
        return TxFailure(failure, consensus=True) if failure is not None else None


def _check_inline(job: ScriptJob, policy_flags: int, block_flags: int) -> TxFailure | None:
    tx = SpendingTx(job.tx.raw)
    tx.set_spent(job.spent_outputs)
    unit = SpendUnit(tx, job.tx_index, 0, len(job.spent_outputs), 0)
    left = take_short_cuts([unit], policy_flags, _none_failed)
    if not left:
        return None
    found = interpret(left, policy_flags, _none_failed)
    if found is not None:
        return TxFailure(found.failure)
    found = interpret(left, block_flags, _none_failed)
    return TxFailure(found.failure, consensus=True) if found is not None else None


def _none_failed() -> int:
    return NO_FAILURE


def _is_one_check(txin: TxIn, spent: SpentOutput) -> bool:
    """Whether the input spends by one key: P2WPKH, P2PKH, P2SH-P2WPKH, taproot's key path."""
    script = spent.script_pubkey
    if is_p2tr(script):
        # Without a script path, which would need a control block.
        return len(txin.witness) == 1
    if is_p2sh(script):
        return len(txin.script_sig) == 1 + _P2WPKH_SIZE
    return is_p2wpkh(script) or is_p2pkh(script)
