"""Standardness of inputs: what a transaction spends, and how many signature operations that takes.

Owns: the reference's ValidateInputsStandardness with its debug texts. Never: witnesses (`witness`), script checks.
`spent` holds the outputs that the inputs spend, in order.
"""

from collections.abc import Sequence

from clarion.node.consensus.sigops import p2sh_sigops, script_sigops
from clarion.node.mempool.policy.constants import MAX_P2SH_SIGOPS, MAX_TX_LEGACY_SIGOPS
from clarion.node.mempool.policy.redeem import evaluate_redeem_script
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.script import is_p2sh
from clarion.node.primitives.templates import ScriptType, solve
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptError

NONSTANDARD_INPUTS = "bad-txns-nonstandard-inputs"
"""The reason that goes with every debug text of this module."""


def validate_inputs_standardness(tx: Transaction, spent: Sequence[SpentOutput]) -> str | None:
    """Return None if all inputs are standard, else the debug text of the first that is not (NONSTANDARD_INPUTS)."""
    if tx.is_coinbase:
        return None
    if not check_sigops_bip54(tx, spent):
        return "non-witness sigops exceed bip54 limit"
    for index, (txin, output) in enumerate(zip(tx.inputs, spent, strict=True)):
        kind = solve(output.script_pubkey).type
        if kind is ScriptType.NONSTANDARD:
            return f"input {index} script unknown"
        if kind is ScriptType.WITNESS_UNKNOWN:
            return f"input {index} witness program is undefined"
        if kind is ScriptType.SCRIPTHASH:
            fault = _redeem_script_fault(index, txin.script_sig)
            if fault is not None:
                return fault
    return None


def _redeem_script_fault(index: int, script_sig: bytes) -> str | None:
    redeem = evaluate_redeem_script(script_sig)
    if isinstance(redeem, ScriptError):
        return f"p2sh scriptsig malformed (input {index}: {redeem.message})"
    if redeem is None:
        return f"input {index} P2SH redeemscript missing"
    sigops = script_sigops(redeem, True)
    if sigops > MAX_P2SH_SIGOPS:
        return f"p2sh redeemscript sigops exceed limit (input {index}: {sigops} > {MAX_P2SH_SIGOPS})"
    return None


def check_sigops_bip54(tx: Transaction, spent: Sequence[SpentOutput]) -> bool:
    """Whether the inputs may run at most 2,500 signature operations outside witnesses (BIP54).

    Counted is what can be executed: the script_sigs, the spent scripts and redeem scripts, accurately.
    """
    sigops = 0
    for txin, output in zip(tx.inputs, spent, strict=True):
        script_pubkey = output.script_pubkey
        sigops += script_sigops(txin.script_sig, True)
        sigops += p2sh_sigops(txin.script_sig) if is_p2sh(script_pubkey) else script_sigops(script_pubkey, True)
        if sigops > MAX_TX_LEGACY_SIGOPS:
            return False
    return True
