"""The scripts of a transaction that passed all other checks.

Owns: the flags, the reasons that a failed script is told with, and that no lock is held while scripts run.
Never: running them (`validation`).
"""

import logging

from clarion.node.consensus.connect import ScriptJob, script_failure
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.policy.witness import spends_non_anchor_witness_program
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.validation.tx_scripts import TxFailure, TxScripts

POLICY_FLAGS = STANDARD_SCRIPT_VERIFY_FLAGS

logger = logging.getLogger(__name__)


def run_scripts(scripts: TxScripts, job: ScriptJob, block_flags: int) -> None:
    """Run the scripts under policy's flags and those of the next block. Any thread. Raises TxRejected."""
    failed = scripts.check(job, POLICY_FLAGS, block_flags)
    if failed is not None:
        raise script_rejection(job, failed)


def script_rejection(job: ScriptJob, failed: TxFailure) -> TxRejected:
    """Return the error of a transaction one of whose scripts fails."""
    tx, failure = job.tx, failed.failure
    told = script_failure(failure.error, failure.input_index, tx)
    if failed.consensus:
        logger.error("Scripts of %s pass by policy but not by consensus: %s", hash_to_hex(tx.txid), told)
        return TxRejected(TxRejection.TX_CONSENSUS, told.reject_reason, told.debug)
    # A peer may have cut the witness off: then the transaction itself need not be bad.
    stripped = not tx.has_witness and spends_non_anchor_witness_program(tx, job.spent_outputs)
    rejection = TxRejection.TX_WITNESS_STRIPPED if stripped else TxRejection.TX_NOT_STANDARD
    return TxRejected(rejection, f"mempool-script-verify-flag-failed ({failure.error.message})", told.debug)
