"""Core's taproot_spends: random spends of all kinds with a valid and mostly an invalid variant."""

import json
import lzma
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from clarion.node.primitives.codec import read_var_bytes
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import (
    ALL_SCRIPT_VERIFY_FLAGS,
    FLAGS_BY_NAME,
    MANDATORY_SCRIPT_VERIFY_FLAGS,
    is_valid_flag_combination,
    parse_flags,
)
from helpers.counts import RecordCount
from helpers.script_checks import check_input

_CHUNKS = 8
_SAMPLES = 4


class _Spend:
    """One variant of a case, with the transaction it completes."""

    def __init__(self, case: dict[str, Any], variant: str) -> None:
        self.name = f"{case['comment']} {variant}"
        self.index = case["index"]
        base = Transaction.parse(bytes.fromhex(case["tx"]), allow_witness=True)
        own = base.inputs[self.index]
        witness = tuple(bytes.fromhex(item) for item in case[variant]["witness"])
        inputs = list(base.inputs)
        inputs[self.index] = TxIn(own.prevout, bytes.fromhex(case[variant]["scriptSig"]), own.sequence, witness)
        self.tx = Transaction(base.version, inputs, base.outputs, base.lock_time)
        self.spent = [_parse_output(bytes.fromhex(output)) for output in case["prevouts"]]

    def passes(self, flags: int) -> bool:
        return check_input(self.tx, self.index, self.spent, flags) is None


def _parse_output(data: bytes) -> TxOut:
    return TxOut(int.from_bytes(data[:8], "little", signed=True), read_var_bytes(data, 8)[0])


@lru_cache(maxsize=1)
def _load(path: Path) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(lzma.decompress(path.read_bytes()))
    return cases


def _subsets(flags: int) -> list[int]:
    bits = [flag for flag in FLAGS_BY_NAME.values() if flags & flag]
    sums = (sum(subset) for size in range(len(bits) + 1) for subset in combinations(bits, size))
    return [subset for subset in sums if is_valid_flag_combination(subset)]


_CONSENSUS_SUBSETS = _subsets(MANDATORY_SCRIPT_VERIFY_FLAGS)


def _success_flags(case: dict[str, Any], source: random.Random) -> list[int]:
    flags = parse_flags(case["flags"])
    subsets = [subset for subset in _CONSENSUS_SUBSETS if not subset & ~flags]
    checked = _CONSENSUS_SUBSETS if case.get("final") else source.sample(subsets, _SAMPLES)
    return [flags, *checked]


def _failure_flags(case: dict[str, Any], source: random.Random) -> Iterator[int]:
    flags = parse_flags(case["flags"])
    yield flags
    for _ in range(_SAMPLES):
        more = flags | source.randrange(ALL_SCRIPT_VERIFY_FLAGS + 1)
        if is_valid_flag_combination(more):
            yield more


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_success_passes_under_fewer_flags(
    chunk: int, shared_path: Callable[..., Path], record_count: RecordCount
) -> None:
    cases = _load(shared_path("vectors", "core", "taproot_spends.json.xz"))[chunk::_CHUNKS]
    source = random.Random(chunk)
    wrong = []
    for case in cases:
        spend = _Spend(case, "success")
        if not all(spend.passes(flags) for flags in _success_flags(case, source)):
            wrong.append(spend.name)
    record_count("taproot_spends success", len(cases) - len(wrong), len(cases))
    assert not wrong


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_failure_fails_under_more_flags(
    chunk: int, shared_path: Callable[..., Path], record_count: RecordCount
) -> None:
    cases = _load(shared_path("vectors", "core", "taproot_spends.json.xz"))[chunk::_CHUNKS]
    failing = [case for case in cases if "failure" in case]
    source = random.Random(chunk)
    wrong = []
    for case in failing:
        spend = _Spend(case, "failure")
        if any(spend.passes(flags) for flags in _failure_flags(case, source)):
            wrong.append(spend.name)
    record_count("taproot_spends failure", len(failing) - len(wrong), len(failing))
    assert not wrong


def test_all_taproot_spends_are_there(shared_path: Callable[..., Path]) -> None:
    cases = _load(shared_path("vectors", "core", "taproot_spends.json.xz"))
    assert len(cases) == 2808
    assert sum("failure" in case for case in cases) == 2490
