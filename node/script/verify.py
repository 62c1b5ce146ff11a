"""Whether an input may spend an output: script_sig, script_pubkey, redeem script and witness together.

Owns: the order in which they run and the rules between them. Never: which flags a block has.
Nothing here raises on what a transaction holds: an exception that nobody expected makes the spend invalid.
"""

from collections.abc import Sequence

from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.script import is_p2sh, is_push_only, push_data, witness_program
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.checker import SignatureChecker, TransactionChecker
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import (
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_SIGPUSHONLY,
    SCRIPT_VERIFY_WITNESS,
    is_valid_flag_combination,
)
from clarion.node.script.interpreter import eval_script
from clarion.node.script.numbers import cast_to_bool
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.witness import verify_witness_program


def verify_script(
    script_sig: bytes, script_pubkey: bytes, witness: Sequence[bytes], flags: int, checker: SignatureChecker
) -> ScriptError | None:
    """Return None if the spend is valid under `flags`, else why not.

    WITNESS without P2SH and CLEANSTACK without WITNESS are no sets of rules: every spend is UNKNOWN_ERROR then.
    """
    try:
        if not is_valid_flag_combination(flags):
            return ScriptError.UNKNOWN_ERROR
        _verify(script_sig, script_pubkey, witness, flags, checker)
    except ScriptFailure as failure:
        return failure.error
    except MemoryError:
        # The machine's fault, not the script's: nobody may call the block invalid for it.
        raise
    except Exception:
        return ScriptError.UNKNOWN_ERROR
    return None


def verify_input(
    tx: Transaction,
    index: int,
    spent_outputs: Sequence[SpentOutput],
    flags: int,
    txdata: PrecomputedTxData | None = None,
) -> ScriptError | None:
    """Return None if input `index` may spend its output under `flags`, else why not.

    `spent_outputs` are those of all inputs in order. `txdata` is shared between the inputs of one transaction.
    """
    try:
        if txdata is None:
            txdata = PrecomputedTxData(tx, spent_outputs)
        txin = tx.inputs[index]
        coin = spent_outputs[index]
        checker = TransactionChecker(txdata, index, coin.value)
    except MemoryError:
        raise
    except Exception:
        return ScriptError.UNKNOWN_ERROR
    return verify_script(txin.script_sig, coin.script_pubkey, txin.witness, flags, checker)


def _verify(
    script_sig: bytes, script_pubkey: bytes, witness: Sequence[bytes], flags: int, checker: SignatureChecker
) -> None:
    if flags & SCRIPT_VERIFY_SIGPUSHONLY and not is_push_only(script_sig):
        raise ScriptFailure(ScriptError.SIG_PUSHONLY)

    # 1. Both scripts run one after the other on one stack; joining them would let the first swallow the second
    #    (CVE-2010-5141).
    stack: list[bytes] = []
    eval_script(stack, script_sig, flags, checker)
    pushed = stack.copy()
    eval_script(stack, script_pubkey, flags, checker)
    _require_true(stack)

    # 2. Witness program in the output (BIP141).
    had_witness = False
    program = witness_program(script_pubkey) if flags & SCRIPT_VERIFY_WITNESS else None
    if program is not None:
        had_witness = True
        if script_sig:
            raise ScriptFailure(ScriptError.WITNESS_MALLEATED)
        verify_witness_program(witness, program[0], program[1], flags, checker, is_p2sh=False)
        # The clean stack was demanded of the witness's script.
        del stack[1:]

    # 3. Redeem script (BIP16), which may hold a witness program.
    if flags & SCRIPT_VERIFY_P2SH and is_p2sh(script_pubkey):
        if not is_push_only(script_sig):
            raise ScriptFailure(ScriptError.SIG_PUSHONLY)
        stack = pushed
        had_witness = _verify_redeem_script(stack, script_sig, witness, flags, checker)

    # 4. What may be left over.
    if flags & SCRIPT_VERIFY_CLEANSTACK and len(stack) != 1:
        raise ScriptFailure(ScriptError.CLEANSTACK)
    if witness and not had_witness and flags & SCRIPT_VERIFY_WITNESS:
        raise ScriptFailure(ScriptError.WITNESS_UNEXPECTED)


def _verify_redeem_script(
    stack: list[bytes], script_sig: bytes, witness: Sequence[bytes], flags: int, checker: SignatureChecker
) -> bool:
    # Runs what script_sig pushed last on what it pushed before; returns whether a witness was used.
    redeem_script = stack.pop()
    eval_script(stack, redeem_script, flags, checker)
    _require_true(stack)
    program = witness_program(redeem_script) if flags & SCRIPT_VERIFY_WITNESS else None
    if program is None:
        return False
    if script_sig != push_data(redeem_script):
        raise ScriptFailure(ScriptError.WITNESS_MALLEATED_P2SH)
    verify_witness_program(witness, program[0], program[1], flags, checker, is_p2sh=True)
    del stack[1:]
    return True


def _require_true(stack: list[bytes]) -> None:
    if not stack or not cast_to_bool(stack[-1]):
        raise ScriptFailure(ScriptError.EVAL_FALSE)
