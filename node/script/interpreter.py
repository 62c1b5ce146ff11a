"""The script interpreter: one loop over a script's raw bytes.

Owns: reading operations, pushes, conditionals, and the limits that hold for every operation.
Never: what the other opcodes do (ops_*), or which scripts a spend runs (verify).
"""

from collections.abc import Callable

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.script import (
    MAX_SCRIPT_ELEMENT_SIZE,
    MAX_SCRIPT_SIZE,
    encode_number,
    is_minimal_push,
)
from clarion.node.script.checker import SignatureChecker
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import SCRIPT_VERIFY_CONST_SCRIPTCODE, SCRIPT_VERIFY_MINIMALIF
from clarion.node.script.machine import (
    MAX_OPS_PER_SCRIPT,
    MAX_STACK_SIZE,
    SIGVERSION_BASE,
    SIGVERSION_TAPSCRIPT,
    SIGVERSION_WITNESS_V0,
    ExecutionData,
    Machine,
)
from clarion.node.script.numbers import cast_to_bool
from clarion.node.script.ops_crypto import CRYPTO_OPS
from clarion.node.script.ops_numeric import NUMERIC_OPS
from clarion.node.script.ops_stack import STACK_OPS

_DISABLED = frozenset(
    {
        op.OP_CAT,
        op.OP_SUBSTR,
        op.OP_LEFT,
        op.OP_RIGHT,
        op.OP_INVERT,
        op.OP_AND,
        op.OP_OR,
        op.OP_XOR,
        op.OP_2MUL,
        op.OP_2DIV,
        op.OP_MUL,
        op.OP_DIV,
        op.OP_MOD,
        op.OP_LSHIFT,
        op.OP_RSHIFT,
    }
)
"""Fail the script even where they are not executed (CVE-2010-5137)."""


def _bad_opcode(machine: Machine) -> None:
    raise ScriptFailure(ScriptError.BAD_OPCODE)


def _build_handlers() -> tuple[Callable[[Machine], None], ...]:
    known = STACK_OPS | NUMERIC_OPS | CRYPTO_OPS
    return tuple(known.get(opcode, _bad_opcode) for opcode in range(256))


_HANDLERS = _build_handlers()
_NO_EXECUTION = ExecutionData()
"""Stands for the taproot data that other scripts don't have. Only tapscript changes it."""
_SMALL_NUMBERS = {
    op.OP_1NEGATE: encode_number(-1),
    **{opcode: encode_number(opcode - op.OP_1 + 1) for opcode in range(op.OP_1, op.OP_16 + 1)},
}

# What the loop has to do itself for an opcode, beside pushes. It needs the position or the conditionals for these.
_PLAIN, _NUMBER, _CONDITIONAL, _SEPARATOR, _FORBIDDEN = range(5)
_CLASSES = bytes(
    _NUMBER
    if opcode in _SMALL_NUMBERS
    else _CONDITIONAL
    if op.OP_IF <= opcode <= op.OP_ENDIF
    else _SEPARATOR
    if opcode == op.OP_CODESEPARATOR
    else _FORBIDDEN
    if opcode in _DISABLED
    else _PLAIN
    for opcode in range(256)
)


def eval_script(
    stack: list[bytes],
    script: bytes,
    flags: int,
    checker: SignatureChecker,
    sigversion: int = SIGVERSION_BASE,
    execution: ExecutionData | None = None,
) -> None:
    """Run `script` on `stack`, which is changed in place. Raises ScriptFailure; what is left on the stack is not judged.

    `execution` is needed for tapscript. The caller has looked for OP_SUCCESS opcodes before.
    """
    end = len(script)
    if not end:
        return
    counting = sigversion != SIGVERSION_TAPSCRIPT
    if counting and end > MAX_SCRIPT_SIZE:
        raise ScriptFailure(ScriptError.SCRIPT_SIZE)
    machine = Machine(stack, script, flags, checker, sigversion, execution or _NO_EXECUTION)
    altstack = machine.altstack
    minimal = machine.minimal
    handlers = _HANDLERS
    classes = _CLASSES
    conditions = _Conditions()
    executing = True
    at = 0
    number = -1
    while at < end:
        number += 1
        opcode = script[at]
        at += 1
        if opcode <= 0x4E:
            if opcode < 0x4C:
                start = at
                at += opcode
            else:
                start, at = _read_push_size(script, at, opcode)
            if at > end:
                raise ScriptFailure(ScriptError.BAD_OPCODE)
            if at - start > MAX_SCRIPT_ELEMENT_SIZE:
                raise ScriptFailure(ScriptError.PUSH_SIZE)
            if executing:
                item = script[start:at]
                if minimal and not is_minimal_push(item, opcode):
                    raise ScriptFailure(ScriptError.MINIMALDATA)
                stack.append(item)
        else:
            # OP_RESERVED does not count, being below OP_16.
            if counting and opcode > 0x60:
                machine.op_count += 1
                if machine.op_count > MAX_OPS_PER_SCRIPT:
                    raise ScriptFailure(ScriptError.OP_COUNT)
            kind = classes[opcode]
            if kind == _PLAIN:
                if executing:
                    handlers[opcode](machine)
            elif kind == _NUMBER:
                if executing:
                    stack.append(_SMALL_NUMBERS[opcode])
            elif kind == _CONDITIONAL:
                executing = conditions.run(opcode, executing, machine)
            elif kind == _SEPARATOR:
                # Signatures commit to the script behind it, in tapscript to its number.
                if sigversion == SIGVERSION_BASE and flags & SCRIPT_VERIFY_CONST_SCRIPTCODE:
                    raise ScriptFailure(ScriptError.OP_CODESEPARATOR)
                if executing and sigversion == SIGVERSION_TAPSCRIPT:
                    machine.execution.code_separator_position = number
                elif executing:
                    machine.code_start = at
            else:
                raise ScriptFailure(ScriptError.DISABLED_OPCODE)
        if len(stack) + len(altstack) > MAX_STACK_SIZE:
            raise ScriptFailure(ScriptError.STACK_SIZE)
    if conditions.depth:
        raise ScriptFailure(ScriptError.UNBALANCED_CONDITIONAL)


def _read_push_size(script: bytes, at: int, opcode: int) -> tuple[int, int]:
    # Returns the bounds of what OP_PUSHDATA1, 2 or 4 pushes; the end lies behind the script's where it is cut off.
    start = at + (1 << (opcode - op.OP_PUSHDATA1))
    return start, start + int.from_bytes(script[at:start], "little")


class _Conditions:
    """The nesting of IFs: how deep, and at which depth the first branch that is not taken begins.

    The branches inside one that is not taken can't be told apart, so two numbers are enough and no script can make
    this slow.
    """

    __slots__ = ("depth", "first_false")

    def __init__(self) -> None:
        self.depth = 0
        self.first_false = 0

    def run(self, opcode: int, executing: bool, machine: Machine) -> bool:
        """Do IF, NOTIF, ELSE or ENDIF; return whether what follows is executed. Raises ScriptFailure."""
        if opcode in (op.OP_IF, op.OP_NOTIF):
            self.depth += 1
            if executing and _pop_condition(machine) == (opcode == op.OP_NOTIF):
                self.first_false = self.depth
        elif opcode in (op.OP_ELSE, op.OP_ENDIF):
            if not self.depth:
                raise ScriptFailure(ScriptError.UNBALANCED_CONDITIONAL)
            if self.first_false == self.depth:
                self.first_false = 0
            elif not self.first_false and opcode == op.OP_ELSE:
                self.first_false = self.depth
            if opcode == op.OP_ENDIF:
                self.depth -= 1
        else:
            # OP_VERIF and OP_VERNOTIF stand between IF and ENDIF and fail even where they are not executed.
            raise ScriptFailure(ScriptError.BAD_OPCODE)
        return not self.first_false


def _pop_condition(machine: Machine) -> bool:
    stack = machine.stack
    if not stack:
        raise ScriptFailure(ScriptError.INVALID_STACK_OPERATION)
    item = stack[-1]
    if item not in (b"", b"\x01"):
        if machine.sigversion == SIGVERSION_TAPSCRIPT:
            raise ScriptFailure(ScriptError.TAPSCRIPT_MINIMALIF)
        if machine.sigversion == SIGVERSION_WITNESS_V0 and machine.flags & SCRIPT_VERIFY_MINIMALIF:
            raise ScriptFailure(ScriptError.MINIMALIF)
    stack.pop()
    return cast_to_bool(item)
