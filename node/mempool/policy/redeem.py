"""The redeem script of a P2SH input, as policy looks for it before scripts are run.

Owns: evaluating a script_sig without a transaction. Never: whether the redeem script is the right one.
"""

from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import SCRIPT_VERIFY_NONE
from clarion.node.script.interpreter import eval_script
from clarion.node.script.machine import ExecutionData


class _NoTransaction:
    """Answers a script that asks for signatures or lock times: there are none."""

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        return False

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        raise ScriptFailure(ScriptError.SCHNORR_SIG)

    def check_lock_time(self, lock_time: int) -> bool:
        return False

    def check_sequence(self, sequence: int) -> bool:
        return False


_NO_TRANSACTION = _NoTransaction()


def evaluate_redeem_script(script_sig: bytes) -> bytes | ScriptError | None:
    """Return the item that `script_sig` leaves on top, None if it leaves none, or why it fails."""
    stack: list[bytes] = []
    try:
        eval_script(stack, script_sig, SCRIPT_VERIFY_NONE, _NO_TRANSACTION)
    except ScriptFailure as failure:
        return failure.error
    return stack[-1] if stack else None
