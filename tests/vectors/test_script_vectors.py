"""Core's script_tests.json: every script under its flags ends with the error that Core names."""

import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from clarion.node.primitives.taproot_tree import tapleaf_hash
from clarion.node.script.checker import TransactionChecker
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import (
    ALL_SCRIPT_VERIFY_FLAGS,
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_WITNESS,
    is_valid_flag_combination,
    parse_flags,
)
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.signatures import taproot_output_key
from clarion.node.script.verify import verify_script
from clarion.node.script.witness import TAPROOT_LEAF_TAPSCRIPT
from helpers.core_script import crediting_transaction, parse_script, spending_transaction
from helpers.counts import RecordCount
from helpers.script_checks import check_input

# Core's vectors use the private key 1 as the internal key of the taproot outputs that are built while testing.
_INTERNAL_KEY = bytes.fromhex("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
_RANDOM_FLAG_SETS = 16


class _Case:
    def __init__(self, test: list[Any]) -> None:
        self.output_key = b""
        self.witness: tuple[bytes, ...] = ()
        value = 0
        if isinstance(test[0], list):
            *items, amount = test[0]
            self.witness = self._witness(items)
            value = int(amount * 100_000_000)
            test = test[1:]
        script_pubkey = test[1].replace("#TAPROOTOUTPUT#", "0x" + self.output_key.hex())
        self.script_sig, self.script_pubkey = parse_script(test[0]), parse_script(script_pubkey)
        self.flags = parse_flags(test[2])
        if self.flags & SCRIPT_VERIFY_CLEANSTACK:
            self.flags |= SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS
        self.expected = None if test[3] == "OK" else ScriptError[test[3]]
        credit = crediting_transaction(self.script_pubkey, value)
        self.spent = credit.outputs
        self.tx = spending_transaction(self.script_sig, self.witness, credit)

    def _witness(self, items: list[str]) -> tuple[bytes, ...]:
        witness: list[bytes] = []
        for item in items:
            if item.startswith("#SCRIPT#"):
                witness.append(parse_script(item.removeprefix("#SCRIPT#")))
            elif item == "#CONTROLBLOCK#":
                root = tapleaf_hash(TAPROOT_LEAF_TAPSCRIPT, witness[-1])
                output = taproot_output_key(_INTERNAL_KEY, root)
                assert output is not None
                self.output_key = output[0]
                witness.append(bytes((TAPROOT_LEAF_TAPSCRIPT | output[1],)) + _INTERNAL_KEY)
            else:
                witness.append(bytes.fromhex(item))
        return tuple(witness)

    def run(self, flags: int) -> ScriptError | None:
        checker = TransactionChecker(PrecomputedTxData(self.tx, self.spent), 0, self.spent[0].value)
        return verify_script(self.script_sig, self.script_pubkey, self.witness, flags, checker)


def _load(shared_path: Callable[..., Path]) -> list[tuple[str, _Case]]:
    tests = json.loads(shared_path("vectors", "core", "script_tests.json").read_text(), parse_float=Decimal)
    return [(f"{at}: {test}", _Case(test)) for at, test in enumerate(tests) if len(test) > 1]


def test_script_tests_json(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    cases = _load(shared_path)
    wrong = [f"{got} for {name}" for name, case in cases if (got := case.run(case.flags)) != case.expected]
    record_count("script_tests.json", len(cases) - len(wrong), len(cases))
    assert not wrong
    assert len(cases) == 1222


def test_flags_only_forbid(shared_path: Callable[..., Path]) -> None:
    """What passes does so under fewer flags; what fails does so under more."""
    source = random.Random(1222)
    wrong = []
    for name, case in _load(shared_path):
        for _ in range(_RANDOM_FLAG_SETS):
            extra = source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1)
            flags = case.flags | extra if case.expected else case.flags & ~extra
            if is_valid_flag_combination(flags) and (case.run(flags) is None) != (case.expected is None):
                wrong.append(f"{flags:#x}: {name}")
    assert not wrong


def test_what_queues_run_agrees(shared_path: Callable[..., Path]) -> None:
    """The loop of all check queues, with its short cut, gives the same answers as the interpreter behind it."""
    cases = _load(shared_path)
    wrong = [name for name, case in cases if check_input(case.tx, 0, case.spent, case.flags) != case.expected]
    assert not wrong
