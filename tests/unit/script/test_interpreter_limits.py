"""The limits of scripts: sizes, counts, nesting, and where tapscript has none."""

import pytest

from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.opcodes import OP_1, OP_DROP, OP_ENDIF, OP_IF, OP_NOP, OP_NOTIF, OP_RESERVED, OP_VERIF
from clarion.node.primitives.script import push_data, witness_script
from clarion.node.script.checker import TransactionChecker
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.flags import MANDATORY_SCRIPT_VERIFY_FLAGS
from clarion.node.script.interpreter import eval_script
from clarion.node.script.machine import SIGVERSION_BASE, SIGVERSION_TAPSCRIPT, ExecutionData
from clarion.node.script.verify import verify_input
from helpers.spends import Spend, p2tr_script_path, p2wpkh


def _run(script: bytes, *items: bytes, sigversion: int = SIGVERSION_BASE) -> ScriptError | None:
    checker = TransactionChecker(p2wpkh().txdata, 0, 0)
    try:
        eval_script(list(items), script, MANDATORY_SCRIPT_VERIFY_FLAGS, checker, sigversion, ExecutionData())
    except ScriptFailure as failure:
        return failure.error
    return None


def _spend(spend: Spend) -> ScriptError | None:
    return verify_input(spend.tx, 0, spend.spent, MANDATORY_SCRIPT_VERIFY_FLAGS)


def test_script_size() -> None:
    script = push_data(bytes(496)) + bytes((OP_DROP,))
    assert _run(script * 20) is None
    assert len(script * 20) == 10_000
    assert _run(script * 20 + bytes((OP_1,))) is ScriptError.SCRIPT_SIZE
    assert _run(script * 20 + bytes((OP_1,)), sigversion=SIGVERSION_TAPSCRIPT) is None


def test_push_size_counts_even_where_nothing_runs() -> None:
    assert _run(push_data(bytes(520))) is None
    assert _run(push_data(bytes(521))) is ScriptError.PUSH_SIZE
    assert _run(bytes((OP_1, OP_NOTIF)) + push_data(bytes(521)) + bytes((OP_ENDIF,))) is ScriptError.PUSH_SIZE


def test_operation_count() -> None:
    assert _run(bytes((OP_NOP,)) * 201) is None
    assert _run(bytes((OP_NOP,)) * 202) is ScriptError.OP_COUNT
    assert _run(bytes((OP_NOP,)) * 202, sigversion=SIGVERSION_TAPSCRIPT) is None
    # Below OP_16 nothing counts, not even OP_RESERVED in a branch that is not taken.
    unexecuted = bytes((OP_1, OP_NOTIF)) + bytes((OP_RESERVED,)) * 300 + bytes((OP_ENDIF,))
    assert _run(unexecuted) is None


def test_multisig_keys_count_as_operations() -> None:
    script = bytes.fromhex("000000ae69")
    keys = bytes.fromhex("0000") + b"\x51" * 20 + bytes.fromhex("0114ae")
    assert _run(script) is None
    assert _run(keys + bytes((OP_NOP,)) * 180) is None
    assert _run(keys + bytes((OP_NOP,)) * 181) is ScriptError.OP_COUNT
    assert _run(bytes((OP_NOP,)) * 181 + keys) is ScriptError.OP_COUNT


def test_stack_size_is_that_of_both_stacks() -> None:
    assert _run(bytes((OP_1,)) * 1000) is None
    assert _run(bytes((OP_1,)) * 1001) is ScriptError.STACK_SIZE
    to_altstack = bytes.fromhex("516b") * 100
    assert _run(to_altstack + bytes((OP_1,)) * 900) is None
    assert _run(to_altstack + bytes((OP_1,)) * 901) is ScriptError.STACK_SIZE


@pytest.mark.parametrize("depth", [1, 100, 4_000])
def test_nesting_costs_nothing(depth: int) -> None:
    script = (bytes((OP_1, OP_NOTIF)) + bytes((OP_IF,)) * depth + bytes((OP_ENDIF,)) * (depth + 1)) + bytes((OP_1,))
    assert _run(script, sigversion=SIGVERSION_TAPSCRIPT) is None


@pytest.mark.parametrize("script", ["63", "67", "68", "5163", "51636768", "00630067", "516367680068"])
def test_conditionals_must_balance(script: str) -> None:
    expected = {"63": ScriptError.INVALID_STACK_OPERATION, "51636768": None}
    assert _run(bytes.fromhex(script)) == expected.get(script, ScriptError.UNBALANCED_CONDITIONAL)


def test_opcodes_that_fail_without_running() -> None:
    def unexecuted(opcode: int) -> bytes:
        return bytes((OP_1, OP_NOTIF, opcode, OP_ENDIF, OP_1))

    assert _run(unexecuted(OP_VERIF)) is ScriptError.BAD_OPCODE
    assert _run(unexecuted(0x7E)) is ScriptError.DISABLED_OPCODE
    assert _run(unexecuted(0xBA)) is None
    assert _run(unexecuted(0xFF)) is None


def test_witness_items_have_the_limit_of_pushes() -> None:
    script = bytes((OP_DROP, OP_1))
    output = witness_script(0, sha256(script))
    assert _spend(Spend(output, witness=(bytes(520), script))) is None
    assert _spend(Spend(output, witness=(bytes(521), script))) is ScriptError.PUSH_SIZE


def test_op_success_comes_before_every_limit() -> None:
    assert _spend(p2tr_script_path(bytes((0xBB,)), bytes(600))) is None
    assert _spend(p2tr_script_path(bytes((OP_1, 0x50)) + b"\x4c", *[b""] * 1200)) is None
    # What can't be read in front of it is read first.
    assert _spend(p2tr_script_path(bytes((0x4B, 0xBB)))) is ScriptError.BAD_OPCODE
    assert _spend(p2tr_script_path(bytes((OP_1, OP_DROP)), *[b""] * 1001)) is ScriptError.STACK_SIZE
