"""Opcodes that calculate.

Owns: arithmetic and comparison of numbers. Never: how numbers are encoded.
"""

from collections.abc import Callable

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.script import encode_number
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.machine import FALSE, TRUE, Machine
from clarion.node.script.numbers import read_number
from clarion.node.script.ops_stack import need


def _unary(calculate: Callable[[int], int]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        stack = machine.stack
        need(stack, 1)
        stack[-1] = encode_number(calculate(read_number(stack[-1], machine.minimal)))

    return run


def _binary(calculate: Callable[[int, int], int]) -> Callable[[Machine], None]:
    def run(machine: Machine) -> None:
        stack = machine.stack
        need(stack, 2)
        a = read_number(stack[-2], machine.minimal)
        b = read_number(stack[-1], machine.minimal)
        stack[-2:] = [encode_number(calculate(a, b))]

    return run


_numequal = _binary(lambda a, b: a == b)


def _numequalverify(machine: Machine) -> None:
    _numequal(machine)
    if not machine.stack[-1]:
        raise ScriptFailure(ScriptError.NUMEQUALVERIFY)
    machine.stack.pop()


def _within(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 3)
    value, low, high = (read_number(item, machine.minimal) for item in stack[-3:])
    stack[-3:] = [TRUE if low <= value < high else FALSE]


NUMERIC_OPS = {
    op.OP_1ADD: _unary(lambda a: a + 1),
    op.OP_1SUB: _unary(lambda a: a - 1),
    op.OP_NEGATE: _unary(lambda a: -a),
    op.OP_ABS: _unary(abs),
    op.OP_NOT: _unary(lambda a: a == 0),
    op.OP_0NOTEQUAL: _unary(lambda a: a != 0),
    op.OP_ADD: _binary(lambda a, b: a + b),
    op.OP_SUB: _binary(lambda a, b: a - b),
    op.OP_BOOLAND: _binary(lambda a, b: a != 0 and b != 0),
    op.OP_BOOLOR: _binary(lambda a, b: a != 0 or b != 0),
    op.OP_NUMEQUAL: _numequal,
    op.OP_NUMEQUALVERIFY: _numequalverify,
    op.OP_NUMNOTEQUAL: _binary(lambda a, b: a != b),
    op.OP_LESSTHAN: _binary(lambda a, b: a < b),
    op.OP_GREATERTHAN: _binary(lambda a, b: a > b),
    op.OP_LESSTHANOREQUAL: _binary(lambda a, b: a <= b),
    op.OP_GREATERTHANOREQUAL: _binary(lambda a, b: a >= b),
    op.OP_MIN: _binary(min),
    op.OP_MAX: _binary(max),
    op.OP_WITHIN: _within,
}
"""Handlers by opcode."""
