"""Finds the signatures and scripts in an input that is signed in part.

Owns: reading script_sig and witness backwards, and checking which key made which signature. Never: making any.
"""

from contextlib import suppress

from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.templates import ScriptType, solve
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptFailure
from clarion.node.script.flags import SCRIPT_VERIFY_STRICTENC, STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.interpreter import eval_script
from clarion.node.script.machine import SIGVERSION_BASE, SIGVERSION_WITNESS_V0, ExecutionData
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.signing.creator import PartialDataChecker
from clarion.node.script.signing.signature_data import KeySignature, SignatureData
from clarion.node.script.verify import verify_script


class _Collector(PartialDataChecker):
    """Checks signatures and remembers the right ones."""

    __slots__ = ("found",)

    def __init__(self, txdata: PrecomputedTxData, index: int, amount: int, found: dict[bytes, KeySignature]) -> None:
        super().__init__(txdata, index, amount)
        self.found = found

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        """Return whether the signature, hash type last, is right."""
        right = PartialDataChecker.check_ecdsa(self, signature, pubkey, script_code, sigversion)
        if right:
            self.found.setdefault(hash160(pubkey), KeySignature(pubkey, signature))
        return right


class _NoTransaction:
    """Stands for the transaction where a script that should only push runs: every check fails."""

    def check_ecdsa(self, signature: bytes, pubkey: bytes, script_code: bytes, sigversion: int) -> bool:
        """Return False."""
        return False

    def check_schnorr(self, signature: bytes, pubkey: bytes, execution: ExecutionData) -> None:
        """Pass: only tapscript asks, which does not run here."""

    def check_lock_time(self, lock_time: int) -> bool:
        """Return False."""
        return False

    def check_sequence(self, sequence: int) -> bool:
        """Return False."""
        return False


def _pushed(script_sig: bytes) -> list[bytes]:
    """Return what a script_sig leaves on the stack, up to where it fails."""
    stack: list[bytes] = []
    with suppress(ScriptFailure):
        eval_script(stack, script_sig, SCRIPT_VERIFY_STRICTENC, _NoTransaction())
    return stack


def extract_signatures(tx: Transaction, index: int, spent: SpentOutput) -> SignatureData:
    """Return what input `index`, which spends `spent`, already has; complete if policy's rules accept it as it is.

    Only the outputs of one input are looked at, so a taproot input is never found complete.
    """
    txin = tx.inputs[index]
    data = SignatureData(script_sig=txin.script_sig, witness=txin.witness)
    checker = _Collector(PrecomputedTxData(tx), index, spent.value, data.signatures)
    flags = STANDARD_SCRIPT_VERIFY_FLAGS
    if verify_script(txin.script_sig, spent.script_pubkey, txin.witness, flags, checker) is None:
        data.complete = True
        return data
    stack = _pushed(txin.script_sig)
    script, solution, sigversion = spent.script_pubkey, solve(spent.script_pubkey), SIGVERSION_BASE
    if solution.type is ScriptType.SCRIPTHASH and stack and stack[-1]:
        script = data.redeem_script = stack.pop()
        solution = solve(script)
    if solution.type is ScriptType.WITNESS_V0_SCRIPTHASH and txin.witness and txin.witness[-1]:
        script = data.witness_script = txin.witness[-1]
        solution, sigversion = solve(script), SIGVERSION_WITNESS_V0
        stack = list(txin.witness[:-1])
    if solution.type is ScriptType.MULTISIG:
        _match(stack, solution.data, script, sigversion, checker)
    return data


def _match(
    signatures: list[bytes], pubkeys: tuple[bytes, ...], script: bytes, sigversion: int, checker: _Collector
) -> None:
    """Find the keys that made a multisig's signatures; both stand in the same order."""
    first = 0
    for signature in signatures:
        for position in range(first, len(pubkeys)):
            pubkey = pubkeys[position]
            # A key that is known to have signed counts as this signature's: the check itself ran before.
            if hash160(pubkey) in checker.found or checker.check_ecdsa(signature, pubkey, script, sigversion):
                first = position + 1
                break
