"""Opcodes that move items, compare them byte for byte, or stop the script.

Owns: the stack opcodes, EQUAL, SIZE, VERIFY, RETURN and the NOPs. Never: numbers beyond positions, hashes, signatures.
"""

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.script import encode_number
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_NOPS
from clarion.node.script.machine import FALSE, TRUE, Machine
from clarion.node.script.numbers import cast_to_bool, read_number


def need(stack: list[bytes], count: int) -> None:
    """Raise ScriptFailure if the stack has fewer than `count` items."""
    if len(stack) < count:
        raise ScriptFailure(ScriptError.INVALID_STACK_OPERATION)


def _nop(machine: Machine) -> None:
    pass


def _upgradable_nop(machine: Machine) -> None:
    if machine.flags & SCRIPT_VERIFY_DISCOURAGE_UPGRADABLE_NOPS:
        raise ScriptFailure(ScriptError.DISCOURAGE_UPGRADABLE_NOPS)


def _verify(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 1)
    if not cast_to_bool(stack[-1]):
        raise ScriptFailure(ScriptError.VERIFY)
    stack.pop()


def _return(machine: Machine) -> None:
    raise ScriptFailure(ScriptError.OP_RETURN)


def _to_altstack(machine: Machine) -> None:
    need(machine.stack, 1)
    machine.altstack.append(machine.stack.pop())


def _from_altstack(machine: Machine) -> None:
    if not machine.altstack:
        raise ScriptFailure(ScriptError.INVALID_ALTSTACK_OPERATION)
    machine.stack.append(machine.altstack.pop())


def _2drop(machine: Machine) -> None:
    need(machine.stack, 2)
    del machine.stack[-2:]


def _2dup(machine: Machine) -> None:
    need(machine.stack, 2)
    machine.stack += machine.stack[-2:]


def _3dup(machine: Machine) -> None:
    need(machine.stack, 3)
    machine.stack += machine.stack[-3:]


def _2over(machine: Machine) -> None:
    need(machine.stack, 4)
    machine.stack += machine.stack[-4:-2]


def _2rot(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 6)
    stack[-6:] = stack[-4:] + stack[-6:-4]


def _2swap(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 4)
    stack[-4:] = stack[-2:] + stack[-4:-2]


def _ifdup(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 1)
    if cast_to_bool(stack[-1]):
        stack.append(stack[-1])


def _depth(machine: Machine) -> None:
    machine.stack.append(encode_number(len(machine.stack)))


def _drop(machine: Machine) -> None:
    need(machine.stack, 1)
    machine.stack.pop()


def _dup(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 1)
    stack.append(stack[-1])


def _nip(machine: Machine) -> None:
    need(machine.stack, 2)
    del machine.stack[-2]


def _over(machine: Machine) -> None:
    need(machine.stack, 2)
    machine.stack.append(machine.stack[-2])


def _position(machine: Machine) -> int:
    stack = machine.stack
    need(stack, 2)
    position = read_number(stack.pop(), machine.minimal)
    if not 0 <= position < len(stack):
        raise ScriptFailure(ScriptError.INVALID_STACK_OPERATION)
    return -position - 1


def _pick(machine: Machine) -> None:
    machine.stack.append(machine.stack[_position(machine)])


def _roll(machine: Machine) -> None:
    machine.stack.append(machine.stack.pop(_position(machine)))


def _rot(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 3)
    stack.append(stack.pop(-3))


def _swap(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 2)
    stack[-2], stack[-1] = stack[-1], stack[-2]


def _tuck(machine: Machine) -> None:
    need(machine.stack, 2)
    machine.stack.insert(-2, machine.stack[-1])


def _size(machine: Machine) -> None:
    need(machine.stack, 1)
    machine.stack.append(encode_number(len(machine.stack[-1])))


def _equal(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 2)
    stack.append(TRUE if stack.pop() == stack.pop() else FALSE)


def _equalverify(machine: Machine) -> None:
    stack = machine.stack
    need(stack, 2)
    if stack.pop() != stack.pop():
        raise ScriptFailure(ScriptError.EQUALVERIFY)


STACK_OPS = {
    op.OP_NOP: _nop,
    op.OP_NOP1: _upgradable_nop,
    op.OP_NOP4: _upgradable_nop,
    op.OP_NOP5: _upgradable_nop,
    op.OP_NOP6: _upgradable_nop,
    op.OP_NOP7: _upgradable_nop,
    op.OP_NOP8: _upgradable_nop,
    op.OP_NOP9: _upgradable_nop,
    op.OP_NOP10: _upgradable_nop,
    op.OP_VERIFY: _verify,
    op.OP_RETURN: _return,
    op.OP_TOALTSTACK: _to_altstack,
    op.OP_FROMALTSTACK: _from_altstack,
    op.OP_2DROP: _2drop,
    op.OP_2DUP: _2dup,
    op.OP_3DUP: _3dup,
    op.OP_2OVER: _2over,
    op.OP_2ROT: _2rot,
    op.OP_2SWAP: _2swap,
    op.OP_IFDUP: _ifdup,
    op.OP_DEPTH: _depth,
    op.OP_DROP: _drop,
    op.OP_DUP: _dup,
    op.OP_NIP: _nip,
    op.OP_OVER: _over,
    op.OP_PICK: _pick,
    op.OP_ROLL: _roll,
    op.OP_ROT: _rot,
    op.OP_SWAP: _swap,
    op.OP_TUCK: _tuck,
    op.OP_SIZE: _size,
    op.OP_EQUAL: _equal,
    op.OP_EQUALVERIFY: _equalverify,
}
"""Handlers by opcode."""
