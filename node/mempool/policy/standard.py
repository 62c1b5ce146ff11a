"""Standardness of a transaction by itself: what can be said without the outputs that it spends.

Owns: the reference's IsStandardTx with its reasons. Never: the spent outputs (`inputs`), fees (`ephemeral`).
"""

from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.policy.constants import (
    MAX_DUST_OUTPUTS_PER_TX,
    MAX_STANDARD_SCRIPTSIG_SIZE,
    MAX_STANDARD_TX_VERSION,
    MAX_STANDARD_TX_WEIGHT,
    MIN_STANDARD_TX_VERSION,
)
from clarion.node.mempool.policy.dust import dust_outputs
from clarion.node.primitives.script import is_push_only
from clarion.node.primitives.templates import ScriptType, Solution, solve
from clarion.node.primitives.transaction import Transaction

_MAX_STANDARD_MULTISIG_KEYS = 3


def is_standard_tx(tx: Transaction, options: MempoolOptions) -> str | None:
    """Return None for a standard transaction, else the reference's reason, of several the one that it finds first."""
    if not MIN_STANDARD_TX_VERSION <= tx.version <= MAX_STANDARD_TX_VERSION:
        return "version"
    if tx.weight > MAX_STANDARD_TX_WEIGHT:
        return "tx-size"
    for txin in tx.inputs:
        if len(txin.script_sig) > MAX_STANDARD_SCRIPTSIG_SIZE:
            return "scriptsig-size"
        if not is_push_only(txin.script_sig):
            return "scriptsig-not-pushonly"
    reason = _output_scripts_fault(tx, options)
    if reason is None and len(dust_outputs(tx, options.dust_relay_feerate)) > MAX_DUST_OUTPUTS_PER_TX:
        reason = "dust"
    return reason


def is_standard_script(script_pubkey: bytes) -> bool:
    """Whether transactions with such an output are relayed: a known template, bare multisig with up to 3 keys."""
    return _is_standard_solution(solve(script_pubkey))


def _is_standard_solution(solution: Solution) -> bool:
    if solution.type is ScriptType.MULTISIG:
        return len(solution.data) <= _MAX_STANDARD_MULTISIG_KEYS
    return solution.type is not ScriptType.NONSTANDARD


def _output_scripts_fault(tx: Transaction, options: MempoolOptions) -> str | None:
    data_bytes_left = options.max_datacarrier_bytes or 0
    for txout in tx.outputs:
        solution = solve(txout.script_pubkey)
        if not _is_standard_solution(solution):
            return "scriptpubkey"
        if solution.type is ScriptType.NULLDATA:
            data_bytes_left -= len(txout.script_pubkey)
            if data_bytes_left < 0:
                return "datacarrier"
        elif solution.type is ScriptType.MULTISIG and not options.permit_bare_multisig:
            return "bare-multisig"
    return None
