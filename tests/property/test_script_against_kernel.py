"""Random and mutated spends judged by Core's own library, where it is installed (extra `oracle`)."""

import os
import random

import pytest

from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.opcodes import OP_1, OP_16, OP_EQUALVERIFY
from clarion.node.primitives.script import iter_ops, p2sh_script, push_data, witness_script
from clarion.node.script.checker import TransactionChecker
from clarion.node.script.errors import ScriptFailure
from clarion.node.script.flags import FLAGS_BY_NAME, MANDATORY_SCRIPT_VERIFY_FLAGS, is_valid_flag_combination
from clarion.node.script.interpreter import eval_script
from clarion.node.script.machine import SIGVERSION_WITNESS_V0
from clarion.node.script.verify import verify_input
from helpers.mutations import mutate, random_script
from helpers.spends import TEMPLATES, VALUE, Spend, p2tr_script_path

pbk = pytest.importorskip("pbk", reason="needs py-bitcoinkernel (extra oracle)")

# More for a long run: CLARION_FUZZ_ROUNDS=100000
_ROUNDS = int(os.environ.get("CLARION_FUZZ_ROUNDS", "400"))
_SEED = os.environ.get("CLARION_FUZZ_SEED", "clarion")
_CONSENSUS_FLAGS = [flag for flag in FLAGS_BY_NAME.values() if flag & MANDATORY_SCRIPT_VERIFY_FLAGS]


def _kernel_passes(spend: Spend, flags: int) -> bool:
    tx = pbk.Transaction(spend.tx.raw)
    spent = [pbk.TransactionOutput(pbk.ScriptPubkey(coin.script_pubkey), coin.value) for coin in spend.spent]
    txdata = pbk.script.PrecomputedTransactionData(tx, spent)
    script = pbk.ScriptPubkey(spend.script_pubkey)
    return bool(script.verify(VALUE, tx, txdata, 0, pbk.ScriptVerificationFlags(flags)))


def _random_flags(source: random.Random) -> int:
    if source.randrange(2):
        return MANDATORY_SCRIPT_VERIFY_FLAGS
    flags = sum(flag for flag in _CONSENSUS_FLAGS if source.randrange(4))
    return flags if is_valid_flag_combination(flags) else 0


def _differs(spend: Spend, flags: int) -> bool:
    return (verify_input(spend.tx, 0, spend.spent, flags) is None) != _kernel_passes(spend, flags)


@pytest.mark.parametrize("template", TEMPLATES)
def test_mutated_spends(template: str) -> None:
    source = random.Random(_SEED + template)
    bases = [TEMPLATES[template](hash_type) for hash_type in (1, 2, 3, 0x81, 0x82, 0x83)]
    wrong = []
    for _ in range(_ROUNDS):
        spend = source.choice(bases)
        for _ in range(source.randrange(3)):
            spend = mutate(source, spend)
        flags = _random_flags(source)
        if _differs(spend, flags):
            wrong.append((spend, flags))
    assert not wrong


def _stack_check(stack: list[bytes]) -> bytes:
    """Return a script that takes exactly these items off the stack and leaves true."""
    equal_verify = bytes((OP_EQUALVERIFY,))
    return b"".join(push_data(item) + equal_verify for item in reversed(stack)) + bytes((OP_1,))


def test_what_scripts_leave_on_the_stack() -> None:
    """The interpreter's final stack is written into the script: Core must find the same items."""
    source = random.Random(_SEED)
    checked, wrong = 0, []
    for _ in range(_ROUNDS * 2):
        script = random_script(source, source.choice([5, 10, 20]))
        stack = [source.choice([b"", b"\x01", b"\x80", source.randbytes(source.randrange(6))]) for _ in range(8)]
        items = tuple(stack)
        checker = TransactionChecker(p2tr_script_path(b"").txdata, 0, VALUE)
        try:
            eval_script(stack, script, MANDATORY_SCRIPT_VERIFY_FLAGS, checker, SIGVERSION_WITNESS_V0)
        except ScriptFailure:
            continue
        checked += 1
        script += _stack_check(stack)
        spend = Spend(witness_script(0, sha256(script)), witness=(*items, script))
        if len([op for op in iter_ops(script) if op[0] > OP_16]) <= 201 and not _kernel_passes(
            spend, MANDATORY_SCRIPT_VERIFY_FLAGS
        ):
            wrong.append(script.hex())
    assert not wrong
    assert checked > _ROUNDS // 10


def _wrap(source: random.Random, kind: str, script: bytes) -> Spend:
    items = tuple(source.choice([b"", b"\x01", b"\x02", b"\x81", source.randbytes(5)]) for _ in range(4))
    pushes = b"".join(push_data(item) for item in items)
    if kind == "bare":
        return Spend(script, pushes)
    if kind == "p2sh":
        return Spend(p2sh_script(hash160(script)), pushes + push_data(script))
    if kind == "p2wsh":
        return Spend(witness_script(0, sha256(script)), witness=(*items, script))
    annex = b"\x50" if source.randrange(4) == 0 else None
    return p2tr_script_path(script, *items, annex=annex)


@pytest.mark.parametrize("kind", ["bare", "p2sh", "p2wsh", "tapscript"])
def test_random_scripts(kind: str) -> None:
    source = random.Random(_SEED + kind)
    wrong = []
    passed = 0
    for _ in range(_ROUNDS):
        spend = _wrap(source, kind, random_script(source, source.choice([1, 2, 3, 5, 8, 30])))
        spend = spend.with_changes(sequence=source.choice([0, 5, 1 << 22, 0xFFFFFFFF]), lock_time=source.choice([0, 9]))
        flags = _random_flags(source)
        passed += verify_input(spend.tx, 0, spend.spent, flags) is None
        if _differs(spend, flags):
            wrong.append((spend, flags))
    assert not wrong
    assert passed
