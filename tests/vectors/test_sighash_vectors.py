"""Core's sighash.json: signature hashes of random transactions and scripts, with any 32-bit hash type."""

import json
from collections.abc import Callable
from pathlib import Path

from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.sighash import PrecomputedTxData, SighashCache, legacy_sighash
from helpers.counts import RecordCount


def test_sighash_json(shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    tests = json.loads(shared_path("vectors", "core", "sighash.json").read_text())[1:]
    wrong = []
    for at, (raw, script, index, hash_type, expected) in enumerate(tests):
        txdata = PrecomputedTxData(Transaction.parse(bytes.fromhex(raw)))
        cache = SighashCache()
        got = [legacy_sighash(txdata, index, bytes.fromhex(script), hash_type, cache) for _ in range(2)]
        if [hash_to_hex(value) for value in got] != [expected, expected]:
            wrong.append(at)
    record_count("sighash.json", len(tests) - len(wrong), len(tests))
    assert not wrong
    assert len(tests) == 500
