"""Core's tx_valid.json and tx_invalid.json: whole transactions under their flags.

The flags of tx_valid.json are those that must be left out, those of tx_invalid.json the ones that must be set; both
sets are minimal, and more (or fewer) flags don't change the verdict. See Core's transaction_tests.cpp.
"""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from clarion.node.consensus.tx_check import check_transaction
from clarion.node.errors import TxInvalid
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.flags import (
    ALL_SCRIPT_VERIFY_FLAGS,
    FLAGS_BY_NAME,
    SCRIPT_VERIFY_CLEANSTACK,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_WITNESS,
    parse_flags,
)
from helpers.core_script import parse_script
from helpers.counts import RecordCount
from helpers.script_checks import check_input


class _Case:
    def __init__(self, test: list[Any]) -> None:
        prevouts, raw, flags = test
        coins = {
            make_outpoint(hash_from_hex(txid), index & 0xFFFFFFFF): TxOut(
                amount[0] if amount else 0, parse_script(script)
            )
            for txid, index, script, *amount in prevouts
        }
        self.tx = Transaction.parse(bytes.fromhex(raw))
        self.flags_text = flags
        # A coinbase among the invalid ones names no output that it spends.
        self.spent = [coins.get(txin.prevout, TxOut(0, b"")) for txin in self.tx.inputs]

    def is_sane(self) -> bool:
        try:
            check_transaction(self.tx)
        except TxInvalid:
            return False
        return True

    def scripts_pass(self, flags: int) -> bool:
        return all(check_input(self.tx, at, self.spent, flags) is None for at in range(len(self.tx.inputs)))


def _load(path: Path) -> list[tuple[str, _Case]]:
    tests = json.loads(path.read_text())
    return [(f"{at}: {test[1]}", _Case(test)) for at, test in enumerate(tests) if isinstance(test[0], list)]


def _trim(flags: int) -> int:
    """Return the flags without those that need one that is not set."""
    if not flags & SCRIPT_VERIFY_P2SH:
        flags &= ~SCRIPT_VERIFY_WITNESS
    return flags if flags & SCRIPT_VERIFY_WITNESS else flags & ~SCRIPT_VERIFY_CLEANSTACK


def _fill(flags: int) -> int:
    """Return the flags and those that they need."""
    if flags & SCRIPT_VERIFY_CLEANSTACK:
        flags |= SCRIPT_VERIFY_WITNESS
    return flags | SCRIPT_VERIFY_P2SH if flags & SCRIPT_VERIFY_WITNESS else flags


def _without_each(flags: int) -> Iterable[int]:
    """Return the flags with each one left out in turn, trimmed to what is a set of rules."""
    return {_trim(flags & ~flag) for flag in FLAGS_BY_NAME.values()} - {flags}


def _random_flags(seed: int) -> Iterable[int]:
    source = random.Random(seed)
    return [*FLAGS_BY_NAME.values(), *(source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1) for _ in FLAGS_BY_NAME)]


def _valid_case_holds(case: _Case) -> bool:
    excluded = parse_flags(case.flags_text)
    flags = ALL_SCRIPT_VERIFY_FLAGS & ~excluded
    return (
        case.is_sane()
        and flags == _trim(flags)
        and case.scripts_pass(flags)
        and all(case.scripts_pass(_trim(flags & ~extra)) for extra in _random_flags(1))
        and not any(case.scripts_pass(ALL_SCRIPT_VERIFY_FLAGS & ~fewer) for fewer in _without_each(excluded))
    )


def _invalid_case_holds(case: _Case) -> bool:
    if case.flags_text == "BADTX" or not case.is_sane():
        return case.flags_text == "BADTX" and not case.is_sane()
    flags = parse_flags(case.flags_text)
    return (
        flags == _fill(flags)
        and not case.scripts_pass(flags)
        and not any(case.scripts_pass(_fill(flags | extra)) for extra in _random_flags(2))
        and all(case.scripts_pass(fewer) for fewer in _without_each(flags))
    )


def test_tx_valid_json(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    cases = _load(shared_path("vectors", "core", "tx_valid.json"))
    wrong = [name for name, case in cases if not _valid_case_holds(case)]
    record_count("tx_valid.json", len(cases) - len(wrong), len(cases))
    assert not wrong
    assert len(cases) == 121


def test_tx_invalid_json(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    cases = _load(shared_path("vectors", "core", "tx_invalid.json"))
    wrong = [name for name, case in cases if not _invalid_case_holds(case)]
    record_count("tx_invalid.json", len(cases) - len(wrong), len(cases))
    assert not wrong
    assert len(cases) == 93
