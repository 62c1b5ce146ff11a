"""Spends of witness programs: P2WSH, P2WPKH, taproot's two paths, and what later rules may define.

Owns: which script a witness runs and what it commits to (BIP141, BIP341, BIP342). Never: the interpreter's loop.
"""

from collections.abc import Sequence
from hashlib import sha256

from clarion.node.primitives.codec import compact_size, var_bytes
from clarion.node.primitives.script import MAX_SCRIPT_ELEMENT_SIZE, p2pkh_script, read_op
from clarion.node.primitives.taproot_tree import tapbranch_hash, tapleaf_hash
from clarion.node.script.checker import SignatureChecker
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import (
    SCRIPT_VERIFY_DISCOURAGE_OP_SUCCESS,
    SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_TAPROOT_VERSION,
    SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM,
    SCRIPT_VERIFY_TAPROOT,
)
from clarion.node.script.interpreter import eval_script
from clarion.node.script.machine import (
    MAX_STACK_SIZE,
    SIGVERSION_TAPSCRIPT,
    SIGVERSION_WITNESS_V0,
    ExecutionData,
)
from clarion.node.script.numbers import cast_to_bool
from clarion.node.script.signatures import check_taproot_tweak

ANNEX_TAG = 0x50
TAPROOT_LEAF_MASK = 0xFE
TAPROOT_LEAF_TAPSCRIPT = 0xC0
TAPROOT_CONTROL_BASE_SIZE = 33
TAPROOT_CONTROL_NODE_SIZE = 32
TAPROOT_CONTROL_MAX_SIZE = TAPROOT_CONTROL_BASE_SIZE + TAPROOT_CONTROL_NODE_SIZE * 128
VALIDATION_WEIGHT_OFFSET = 50
"""Weight units of budget beside the witness's size (BIP342)."""

_ANCHOR_PROGRAM = b"\x4e\x73"
_OP_SUCCESS = frozenset(
    {80, 98, *range(126, 130), *range(131, 135), 137, 138, 141, 142, *range(149, 154), *range(187, 255)}
)


def is_op_success(opcode: int) -> bool:
    """Return whether the opcode makes any tapscript that holds it valid (BIP342)."""
    return opcode in _OP_SUCCESS


def taproot_merkle_root(control: bytes, leaf_hash: bytes) -> bytes:
    """Return the root that a control block of valid size leads to from the leaf (BIP341)."""
    root = leaf_hash
    for at in range(TAPROOT_CONTROL_BASE_SIZE, len(control), TAPROOT_CONTROL_NODE_SIZE):
        root = tapbranch_hash(root, control[at : at + TAPROOT_CONTROL_NODE_SIZE])
    return root


def verify_witness_program(
    witness: Sequence[bytes], version: int, program: bytes, flags: int, checker: SignatureChecker, is_p2sh: bool
) -> None:
    """Raise ScriptFailure unless the witness may spend the program.

    Versions and sizes without rules pass, so that later soft forks can define them.
    """
    if version == 0:
        _verify_v0(witness, program, flags, checker)
    elif version == 1 and len(program) == 32 and not is_p2sh:
        if flags & SCRIPT_VERIFY_TAPROOT:
            _verify_taproot(witness, program, flags, checker)
    elif version == 1 and program == _ANCHOR_PROGRAM and not is_p2sh:
        # Pay-to-anchor: anyone may spend it, by policy too.
        pass
    elif flags & SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM:
        raise ScriptFailure(ScriptError.DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM)


def _verify_v0(witness: Sequence[bytes], program: bytes, flags: int, checker: SignatureChecker) -> None:
    if len(program) == 32:
        if not witness:
            raise ScriptFailure(ScriptError.WITNESS_PROGRAM_WITNESS_EMPTY)
        script = witness[-1]
        if sha256(script).digest() != program:
            raise ScriptFailure(ScriptError.WITNESS_PROGRAM_MISMATCH)
        stack = list(witness[:-1])
    elif len(program) == 20:
        if len(witness) != 2:
            raise ScriptFailure(ScriptError.WITNESS_PROGRAM_MISMATCH)
        script = p2pkh_script(program)
        stack = list(witness)
    else:
        raise ScriptFailure(ScriptError.WITNESS_PROGRAM_WRONG_LENGTH)
    _execute(stack, script, flags, checker, SIGVERSION_WITNESS_V0, None)


def _verify_taproot(witness: Sequence[bytes], program: bytes, flags: int, checker: SignatureChecker) -> None:
    if not witness:
        raise ScriptFailure(ScriptError.WITNESS_PROGRAM_WITNESS_EMPTY)
    execution = ExecutionData()
    stack = list(witness)
    if len(stack) >= 2 and stack[-1][:1] == bytes((ANNEX_TAG,)):
        execution.annex_hash = sha256(var_bytes(stack.pop())).digest()
    if len(stack) == 1:
        checker.check_schnorr(stack[0], program, execution)
        return
    control = stack.pop()
    script = stack.pop()
    size = len(control)
    if (
        not TAPROOT_CONTROL_BASE_SIZE <= size <= TAPROOT_CONTROL_MAX_SIZE
        or (size - TAPROOT_CONTROL_BASE_SIZE) % TAPROOT_CONTROL_NODE_SIZE
    ):
        raise ScriptFailure(ScriptError.TAPROOT_WRONG_CONTROL_SIZE)
    leaf_version = control[0] & TAPROOT_LEAF_MASK
    execution.tapleaf_hash = tapleaf_hash(leaf_version, script)
    root = taproot_merkle_root(control, execution.tapleaf_hash)
    if not check_taproot_tweak(program, control[1:TAPROOT_CONTROL_BASE_SIZE], root, control[0] & 1):
        raise ScriptFailure(ScriptError.WITNESS_PROGRAM_MISMATCH)
    if leaf_version == TAPROOT_LEAF_TAPSCRIPT:
        execution.weight_left = _witness_size(witness) + VALIDATION_WEIGHT_OFFSET
        _execute(stack, script, flags, checker, SIGVERSION_TAPSCRIPT, execution)
    elif flags & SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_TAPROOT_VERSION:
        raise ScriptFailure(ScriptError.DISCOURAGE_UPGRADABLE_TAPROOT_VERSION)


def _witness_size(witness: Sequence[bytes]) -> int:
    # As on the wire, annex and control block included.
    size = len(compact_size(len(witness)))
    for item in witness:
        size += len(item) + len(compact_size(len(item)))
    return size


def _execute(
    stack: list[bytes],
    script: bytes,
    flags: int,
    checker: SignatureChecker,
    sigversion: int,
    execution: ExecutionData | None,
) -> None:
    if sigversion == SIGVERSION_TAPSCRIPT:
        # OP_SUCCESS comes before every other rule, the limits of sizes included.
        if _has_op_success(script):
            if flags & SCRIPT_VERIFY_DISCOURAGE_OP_SUCCESS:
                raise ScriptFailure(ScriptError.DISCOURAGE_OP_SUCCESS)
            return
        if len(stack) > MAX_STACK_SIZE:
            raise ScriptFailure(ScriptError.STACK_SIZE)
    for item in stack:
        if len(item) > MAX_SCRIPT_ELEMENT_SIZE:
            raise ScriptFailure(ScriptError.PUSH_SIZE)
    eval_script(stack, script, flags, checker, sigversion, execution)
    # Witness scripts leave a clean stack by consensus.
    if len(stack) != 1:
        raise ScriptFailure(ScriptError.CLEANSTACK)
    if not cast_to_bool(stack[0]):
        raise ScriptFailure(ScriptError.EVAL_FALSE)


def _has_op_success(script: bytes) -> bool:
    # A script that can't be read fails, unless an OP_SUCCESS stands before the fault.
    at = 0
    end = len(script)
    while at < end:
        op = read_op(script, at)
        if op is None:
            raise ScriptFailure(ScriptError.BAD_OPCODE)
        if op[0] in _OP_SUCCESS:
            return True
        at = op[2]
    return False
