"""Opcodes that hash, check signatures, or look at the transaction's locks.

Owns: the rules around a signature check: what is signed over, when it fails the script. Never: the mathematics.
"""

from collections.abc import Callable
from hashlib import sha1

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.hashes import hash160, ripemd160, sha256, sha256d
from clarion.node.primitives.script import MAX_PUBKEYS_PER_MULTISIG, encode_number, push_data
from clarion.node.script.checker import SEQUENCE_LOCKTIME_DISABLE_FLAG
from clarion.node.script.encoding import check_pubkey_encoding, check_signature_encoding
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import (
    SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY,
    SCRIPT_VERIFY_CHECKSEQUENCEVERIFY,
    SCRIPT_VERIFY_CONST_SCRIPTCODE,
    SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE,
    SCRIPT_VERIFY_NULLDUMMY,
    SCRIPT_VERIFY_NULLFAIL,
)
from clarion.node.script.machine import (
    FALSE,
    MAX_OPS_PER_SCRIPT,
    SIGVERSION_BASE,
    SIGVERSION_TAPSCRIPT,
    SIGVERSION_WITNESS_V0,
    TRUE,
    Machine,
)
from clarion.node.script.numbers import LOCK_TIME_MAX_NUMBER_SIZE, read_number
from clarion.node.script.ops_stack import need
from clarion.node.script.walk import find_and_delete

VALIDATION_WEIGHT_PER_SIGOP_PASSED = 50
"""Weight units that a tapscript signature takes from the input's budget (BIP342)."""


def _hash(function: Callable[[bytes], bytes]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        stack = machine.stack
        if not stack:
            raise ScriptFailure(ScriptError.INVALID_STACK_OPERATION)
        stack[-1] = function(stack[-1])

    return run


def _lock_argument(machine: Machine) -> int:
    need(machine.stack, 1)
    value = read_number(machine.stack[-1], machine.minimal, LOCK_TIME_MAX_NUMBER_SIZE)
    if value < 0:
        raise ScriptFailure(ScriptError.NEGATIVE_LOCKTIME)
    return value


def _checklocktimeverify(machine: Machine) -> None:
    if not machine.flags & SCRIPT_VERIFY_CHECKLOCKTIMEVERIFY:
        return
    if not machine.checker.check_lock_time(_lock_argument(machine)):
        raise ScriptFailure(ScriptError.UNSATISFIED_LOCKTIME)


def _checksequenceverify(machine: Machine) -> None:
    if not machine.flags & SCRIPT_VERIFY_CHECKSEQUENCEVERIFY:
        return
    sequence = _lock_argument(machine)
    # The flag leaves room for later rules: with it the opcode does nothing.
    if sequence & SEQUENCE_LOCKTIME_DISABLE_FLAG:
        return
    if not machine.checker.check_sequence(sequence):
        raise ScriptFailure(ScriptError.UNSATISFIED_LOCKTIME)


def _script_code(machine: Machine, signatures: list[bytes]) -> bytes:
    # What is signed: the script behind the last code separator, outside the witness without the signatures.
    code = machine.script[machine.code_start :] if machine.code_start else machine.script
    if machine.sigversion == SIGVERSION_BASE:
        for signature in signatures:
            code, found = find_and_delete(code, push_data(signature))
            if found and machine.flags & SCRIPT_VERIFY_CONST_SCRIPTCODE:
                raise ScriptFailure(ScriptError.SIG_FINDANDDELETE)
    return code


def _check_ecdsa(machine: Machine, signature: bytes, pubkey: bytes) -> bool:
    flags = machine.flags
    sigversion = machine.sigversion
    code = _script_code(machine, [signature])
    check_signature_encoding(signature, flags)
    check_pubkey_encoding(pubkey, flags, sigversion == SIGVERSION_WITNESS_V0)
    success = machine.checker.check_ecdsa(signature, pubkey, code, sigversion)
    if not success and flags & SCRIPT_VERIFY_NULLFAIL and signature:
        raise ScriptFailure(ScriptError.NULLFAIL)
    return success


def _check_tapscript(machine: Machine, signature: bytes, pubkey: bytes) -> bool:
    # The order is consensus: the budget first, then the key's type, then the signature (BIP342).
    execution = machine.execution
    if signature:
        execution.weight_left -= VALIDATION_WEIGHT_PER_SIGOP_PASSED
        if execution.weight_left < 0:
            raise ScriptFailure(ScriptError.TAPSCRIPT_VALIDATION_WEIGHT)
    size = len(pubkey)
    if size == 0:
        raise ScriptFailure(ScriptError.TAPSCRIPT_EMPTY_PUBKEY)
    if size == 32:
        if signature:
            machine.checker.check_schnorr(signature, pubkey, execution)
    elif machine.flags & SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_PUBKEYTYPE:
        raise ScriptFailure(ScriptError.DISCOURAGE_UPGRADABLE_PUBKEYTYPE)
    return bool(signature)


def _check_signature(machine: Machine, signature: bytes, pubkey: bytes) -> bool:
    if machine.sigversion == SIGVERSION_TAPSCRIPT:
        return _check_tapscript(machine, signature, pubkey)
    return _check_ecdsa(machine, signature, pubkey)


def _checksig(machine: Machine) -> None:
    stack = machine.stack
    if len(stack) < 2:
        raise ScriptFailure(ScriptError.INVALID_STACK_OPERATION)
    success = _check_signature(machine, stack[-2], stack[-1])
    stack[-2:] = [TRUE if success else FALSE]


def _checksigverify(machine: Machine) -> None:
    _checksig(machine)
    if not machine.stack.pop():
        raise ScriptFailure(ScriptError.CHECKSIGVERIFY)


def _checksigadd(machine: Machine) -> None:
    if machine.sigversion != SIGVERSION_TAPSCRIPT:
        raise ScriptFailure(ScriptError.BAD_OPCODE)
    stack = machine.stack
    need(stack, 3)
    signature, number, pubkey = stack[-3:]
    total = read_number(number, machine.minimal)
    total += _check_signature(machine, signature, pubkey)
    stack[-3:] = [encode_number(total)]


def _pop_multisig(machine: Machine) -> tuple[list[bytes], list[bytes], int]:
    # Returns keys and signatures, the last pushed one first, and how many items lie above the dummy.
    stack = machine.stack
    need(stack, 1)
    key_count = read_number(stack[-1], machine.minimal)
    if not 0 <= key_count <= MAX_PUBKEYS_PER_MULTISIG:
        raise ScriptFailure(ScriptError.PUBKEY_COUNT)
    machine.op_count += key_count
    if machine.op_count > MAX_OPS_PER_SCRIPT:
        raise ScriptFailure(ScriptError.OP_COUNT)
    need(stack, key_count + 2)
    sig_count = read_number(stack[-key_count - 2], machine.minimal)
    if not 0 <= sig_count <= key_count:
        raise ScriptFailure(ScriptError.SIG_COUNT)
    # The first implementation took one item too many, so every script pushes a dummy below the signatures.
    used = key_count + sig_count + 2
    need(stack, used + 1)
    pubkeys = stack[-1 - key_count : -1]
    signatures = stack[-used : -2 - key_count]
    return pubkeys[::-1], signatures[::-1], used


def _match_signatures(machine: Machine, signatures: list[bytes], pubkeys: list[bytes], code: bytes) -> bool:
    # Keys and signatures must come in the same order; which of them are looked at is visible under STRICTENC.
    flags = machine.flags
    sigversion = machine.sigversion
    check_ecdsa = machine.checker.check_ecdsa
    at = 0
    for tried, pubkey in enumerate(pubkeys):
        if at == len(signatures):
            return True
        if len(signatures) - at > len(pubkeys) - tried:
            return False
        signature = signatures[at]
        check_signature_encoding(signature, flags)
        check_pubkey_encoding(pubkey, flags, sigversion == SIGVERSION_WITNESS_V0)
        if check_ecdsa(signature, pubkey, code, sigversion):
            at += 1
    return at == len(signatures)


def _checkmultisig(machine: Machine) -> None:
    if machine.sigversion == SIGVERSION_TAPSCRIPT:
        raise ScriptFailure(ScriptError.TAPSCRIPT_CHECKMULTISIG)
    pubkeys, signatures, used = _pop_multisig(machine)
    code = _script_code(machine, signatures)
    success = _match_signatures(machine, signatures, pubkeys, code)
    if not success and machine.flags & SCRIPT_VERIFY_NULLFAIL and any(signatures):
        raise ScriptFailure(ScriptError.NULLFAIL)
    stack = machine.stack
    if stack[-used - 1] and machine.flags & SCRIPT_VERIFY_NULLDUMMY:
        raise ScriptFailure(ScriptError.SIG_NULLDUMMY)
    stack[-used - 1 :] = [TRUE if success else FALSE]


def _checkmultisigverify(machine: Machine) -> None:
    _checkmultisig(machine)
    if not machine.stack.pop():
        raise ScriptFailure(ScriptError.CHECKMULTISIGVERIFY)


CRYPTO_OPS = {
    op.OP_RIPEMD160: _hash(ripemd160),
    op.OP_SHA1: _hash(lambda data: sha1(data).digest()),
    op.OP_SHA256: _hash(sha256),
    op.OP_HASH160: _hash(hash160),
    op.OP_HASH256: _hash(sha256d),
    op.OP_CHECKLOCKTIMEVERIFY: _checklocktimeverify,
    op.OP_CHECKSEQUENCEVERIFY: _checksequenceverify,
    op.OP_CHECKSIG: _checksig,
    op.OP_CHECKSIGVERIFY: _checksigverify,
    op.OP_CHECKSIGADD: _checksigadd,
    op.OP_CHECKMULTISIG: _checkmultisig,
    op.OP_CHECKMULTISIGVERIFY: _checkmultisigverify,
}
"""Handlers by opcode."""
