"""Standardness of witnesses: sizes that keep relay cheap, and nothing where nothing is read.

Owns: the reference's IsWitnessStandard and SpendsNonAnchorWitnessProg. Never: whether a witness is valid.
`spent` holds the outputs that the inputs spend, in order.
"""

from collections.abc import Sequence

from clarion.node.mempool.policy.constants import (
    MAX_STANDARD_P2WSH_SCRIPT_SIZE,
    MAX_STANDARD_P2WSH_STACK_ITEM_SIZE,
    MAX_STANDARD_P2WSH_STACK_ITEMS,
    MAX_STANDARD_TAPSCRIPT_STACK_ITEM_SIZE,
)
from clarion.node.mempool.policy.redeem import evaluate_redeem_script
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.script import ANCHOR_SCRIPT, is_p2sh, is_p2tr, is_p2wsh, witness_program
from clarion.node.primitives.transaction import Transaction, TxIn

_ANNEX_TAG = 0x50
_LEAF_MASK = 0xFE
_LEAF_TAPSCRIPT = 0xC0


def is_witness_standard(tx: Transaction, spent: Sequence[SpentOutput]) -> bool:
    """Whether every witness belongs to a witness program other than an anchor and keeps the limits of its kind."""
    if tx.is_coinbase:
        return True
    return all(
        not txin.witness or _is_input_standard(txin, output.script_pubkey)
        for txin, output in zip(tx.inputs, spent, strict=True)
    )


def _is_input_standard(txin: TxIn, script: bytes) -> bool:
    if script == ANCHOR_SCRIPT:
        return False
    nested = is_p2sh(script)
    if nested:
        redeem = evaluate_redeem_script(txin.script_sig)
        if not isinstance(redeem, bytes):
            return False
        script = redeem
    if witness_program(script) is None:
        return False
    if is_p2wsh(script):
        return _is_p2wsh_standard(txin.witness)
    # Taproot has no meaning inside P2SH, so nothing limits it there.
    return nested or not is_p2tr(script) or _is_taproot_standard(txin.witness)


def _is_p2wsh_standard(witness: Sequence[bytes]) -> bool:
    items = witness[:-1]
    return (
        len(witness[-1]) <= MAX_STANDARD_P2WSH_SCRIPT_SIZE
        and len(items) <= MAX_STANDARD_P2WSH_STACK_ITEMS
        and all(len(item) <= MAX_STANDARD_P2WSH_STACK_ITEM_SIZE for item in items)
    )


def _is_taproot_standard(witness: Sequence[bytes]) -> bool:
    if len(witness) < 2:
        return True
    control_block = witness[-1]
    # An annex has no meaning yet, so nobody may use it; without a control block the spend is invalid anyway.
    if not control_block or control_block[0] == _ANNEX_TAG:
        return False
    if control_block[0] & _LEAF_MASK != _LEAF_TAPSCRIPT:
        return True
    return all(len(item) <= MAX_STANDARD_TAPSCRIPT_STACK_ITEM_SIZE for item in witness[:-2])


def spends_non_anchor_witness_program(tx: Transaction, spent: Sequence[SpentOutput]) -> bool:
    """Whether any input spends a witness program, nested ones included, other than an anchor.

    May be wrong for transactions that consensus refuses. It tells whether a missing witness could be the reason why
    a script failed.
    """
    if tx.is_coinbase:
        return False
    return any(
        _is_non_anchor_program(txin.script_sig, output.script_pubkey)
        for txin, output in zip(tx.inputs, spent, strict=True)
    )


def _is_non_anchor_program(script_sig: bytes, script: bytes) -> bool:
    if is_p2sh(script):
        redeem = evaluate_redeem_script(script_sig)
        return isinstance(redeem, bytes) and witness_program(redeem) is not None
    return script != ANCHOR_SCRIPT and witness_program(script) is not None
