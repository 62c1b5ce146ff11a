"""createrawtransaction, decoderawtransaction and decodescript against the reference's recorded answers and by hand."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from clarion.node.primitives.transaction import Transaction
from helpers.api_stack import ApiStack
from helpers.counts import RecordCount
from helpers.tape import read_tape

TXID = "11" * 32
ADDRESS = "mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z"
OTHER_ADDRESS = "bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202"
INPUT = {"txid": TXID, "vout": 0}


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    from helpers.shared import shared_path

    return read_tape(shared_path("tapes", "regtest-a.jsonl.gz"))


@pytest.mark.parametrize("method", ["createrawtransaction", "decoderawtransaction", "decodescript"])
def test_recorded_answers(stack: ApiStack, steps: list[dict[str, Any]], method: str, record_count: RecordCount) -> None:
    calls = [step for step in steps if step.get("rpc", [""])[0] == method]
    passed = 0
    for step in calls:
        answer = stack.post({"jsonrpc": "1.0", "id": "tape", "method": method, "params": step["rpc"][1]})
        passed += (answer.status_code, answer.text) == (step["status"], step["body"])
    record_count(f"{method}, recorded", passed, len(calls))
    assert passed == len(calls) > 1


def test_decodescript_vectors(stack: ApiStack, shared_path: Callable[..., Path], record_count: RecordCount) -> None:
    vectors = json.loads(shared_path("vectors", "core", "rpc_decodescript.json").read_text())
    passed = sum(stack.result("decodescript", script) == expected for script, expected in vectors)
    record_count("rpc_decodescript.json", passed, len(vectors))
    assert passed == len(vectors)


KEY = "03b0da749730dc9b4b1f4a14d6902877a92541f5368778853d9c4a0cb7802dcfb2"
OLD_KEY = (
    "04b0da749730dc9b4b1f4a14d6902877a92541f5368778853d9c4a0cb7802dcfb2"
    "5e01fc8fde47c96c98a4f3a8123e33a38a50cf9025cc8c4494a518f991792bb7"
)


@pytest.mark.parametrize(
    ("script", "kind", "wrapped", "segwit"),
    [
        pytest.param("", "nonstandard", True, "witness_v0_scripthash", id="empty"),
        pytest.param(f"21{KEY}ac", "pubkey", True, "witness_v0_keyhash", id="pubkey"),
        pytest.param(f"41{OLD_KEY}ac", "pubkey", True, None, id="uncompressed"),
        pytest.param(f"5121{KEY}41{OLD_KEY}52ae", "multisig", True, None, id="multisig-with-uncompressed"),
        pytest.param(f"5121{KEY}51ae", "multisig", True, "witness_v0_scripthash", id="multisig"),
        pytest.param("0014" + "00" * 20, "witness_v0_keyhash", True, None, id="program"),
        pytest.param("51024e73", "anchor", False, None, id="anchor"),
        pytest.param("a914" + "00" * 20 + "87", "scripthash", False, None, id="script-hash"),
        pytest.param("ba", "nonstandard", False, None, id="tapscript-opcode"),
        pytest.param("6a02ee", "nonstandard", False, None, id="cut-off"),
    ],
)
def test_wrapping(stack: ApiStack, script: str, kind: str, wrapped: bool, segwit: str | None) -> None:
    answer = stack.result("decodescript", script)
    assert answer["type"] == kind
    assert ("p2sh" in answer) == wrapped
    assert answer.get("segwit", {}).get("type") == segwit
    assert "hex" not in answer


def test_script_that_is_no_hex(stack: ApiStack) -> None:
    message = "argument must be hexadecimal string (not '5')"
    assert stack.error("decodescript", "5") == (-8, message)


def test_either_encoding(stack: ApiStack) -> None:
    # One input with a witness: the other encoding would read no inputs and bytes behind the end.
    extended = "01000000000101" + "00" * 36 + "00ffffffff0100e1f5050000000001" + "51" + "0102616100000000"
    decoded = stack.result("decoderawtransaction", extended, True)
    assert decoded["vin"][0]["txinwitness"] == ["6161"]
    assert decoded == stack.result("decoderawtransaction", extended)
    assert "hex" not in decoded
    assert stack.error("decoderawtransaction", extended, False) == (-22, "TX decode failed")
    plain = stack.result("createrawtransaction", [], {ADDRESS: 1})
    assert stack.result("decoderawtransaction", plain, False)["vin"] == []
    assert stack.error("decoderawtransaction", plain, True) == (-22, "TX decode failed")


@pytest.mark.parametrize("value", [1, "1", "1.00000000", 1.0, "1e0"])
def test_amounts(stack: ApiStack, value: object) -> None:
    tx = Transaction.parse(bytes.fromhex(stack.result("createrawtransaction", [INPUT], [{ADDRESS: value}])))
    assert [txout.value for txout in tx.outputs] == [100_000_000]
    assert stack.result("decoderawtransaction", tx.raw.hex())["vout"][0]["value"] == Decimal(1)


def test_small_amount_in_exponent_form(stack: ApiStack) -> None:
    body = b'{"method":"createrawtransaction","params":[[],{"%s":1e-8}]}' % ADDRESS.encode()
    raw = stack.post(body).json()["result"]
    # Without inputs the bytes read as the extended encoding's marker, unless told otherwise.
    assert Transaction.parse(bytes.fromhex(raw), allow_witness=False).outputs[0].value == 1


@pytest.mark.parametrize(
    ("options", "sequence"),
    [
        ({}, 0xFFFFFFFD),
        ({"replaceable": True}, 0xFFFFFFFD),
        ({"replaceable": False}, 0xFFFFFFFF),
        ({"replaceable": False, "locktime": 5}, 0xFFFFFFFE),
        ({"locktime": 5}, 0xFFFFFFFD),
    ],
)
def test_sequence_numbers(stack: ApiStack, options: dict[str, Any], sequence: int) -> None:
    raw = stack.result("createrawtransaction", inputs=[INPUT], outputs={ADDRESS: 1}, version=3, **options)
    tx = Transaction.parse(bytes.fromhex(raw))
    assert [txin.sequence for txin in tx.inputs] == [sequence]
    assert (tx.lock_time, tx.version) == (options.get("locktime", 0), 3)


def test_forms_of_outputs(stack: ApiStack) -> None:
    listed = stack.result("createrawtransaction", [INPUT], [{ADDRESS: 1}, {OTHER_ADDRESS: 2}, {"data": "99"}])
    assert stack.result("createrawtransaction", [INPUT], {ADDRESS: 1, OTHER_ADDRESS: 2, "data": 99}) == listed
    assert Transaction.parse(bytes.fromhex(listed)).outputs[2].script_pubkey == b"\x6a\x01\x99"


def test_own_sequence_number(stack: ApiStack) -> None:
    raw = stack.result("createrawtransaction", [{**INPUT, "sequence": 1000}], {})
    assert Transaction.parse(bytes.fromhex(raw), allow_witness=False).inputs[0].sequence == 1000
    contradiction = stack.error("createrawtransaction", [{**INPUT, "sequence": 0xFFFFFFFE}], {}, 0, True)
    assert contradiction[1] == "Invalid parameter combination: Sequence number(s) contradict replaceable option"


NO_STRING = "JSON value of type null is not of expected type string"


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ([["foo"], {}], -3, "JSON value of type string is not of expected type object"),
        ([[{}], {}], -3, NO_STRING),
        ([[{"txid": "foo"}], {}], -8, "txid must be of length 64 (not 3, for 'foo')"),
        ([[{"txid": TXID}], {}], -8, "Invalid parameter, missing vout key"),
        ([[{"txid": TXID, "vout": "0"}], {}], -8, "Invalid parameter, missing vout key"),
        ([[{"txid": TXID, "vout": -1}], {}], -8, "Invalid parameter, vout cannot be negative"),
        ([[{"txid": TXID, "vout": 2**31}], {}], -1, "JSON integer out of range"),
        ([[{**INPUT, "sequence": -1}], {}], -8, "Invalid parameter, sequence number is out of range"),
        ([[{**INPUT, "sequence": 2**32}], {}], -8, "Invalid parameter, sequence number is out of range"),
        ([[], None], -8, "Invalid parameter, output argument must be non-null"),
        ([[], "foo"], -3, "JSON value of type string is not of expected type array"),
        ([[], {"data": "foo"}], -8, "Data must be hexadecimal string (not 'foo')"),
        ([[], {"data": True}], -8, "Data must be hexadecimal string (not '1')"),
        ([[], {"foo": 0}], -5, "Invalid Bitcoin address: foo"),
        ([[], {"foo": True}], -3, "Amount is not a number or string"),
        ([[], {ADDRESS: "foo"}], -3, "Invalid amount"),
        ([[], {ADDRESS: 0.000000001}], -3, "Invalid amount"),
        ([[], {ADDRESS: -1}], -3, "Amount out of range"),
        ([[], [{ADDRESS: 1}, {ADDRESS: 1}]], -8, f"Invalid parameter, duplicated address: {ADDRESS}"),
        ([[], [{"data": "aa"}, {"data": "bb"}]], -8, "Invalid parameter, duplicate key: data"),
        ([[], [{"a": 1, "b": 2}]], -8, "Invalid parameter, key-value pair must contain exactly one key"),
        ([[], [["a"]]], -8, "Invalid parameter, key-value pair not an object as expected"),
        ([[], {}, -1], -8, "Invalid parameter, locktime out of range"),
        ([[], {}, 2**32], -8, "Invalid parameter, locktime out of range"),
        ([[], {}, 0, True, 0], -8, "Invalid parameter, version out of range(1~3)"),
        ([[], {}, 0, True, 4], -8, "Invalid parameter, version out of range(1~3)"),
    ],
)
def test_refused(stack: ApiStack, params: list[Any], code: int, message: str) -> None:
    assert stack.error("createrawtransaction", *params) == (code, message)


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (f'{{"{ADDRESS}":1,"{ADDRESS}":1}}', f"duplicated address: {ADDRESS}"),
        (f'[{{"{ADDRESS}":1,"{ADDRESS}":1}}]', "key-value pair must contain exactly one key"),
        ('{"data":"aa","data":"bb"}', "duplicate key: data"),
    ],
)
def test_doubled_keys(stack: ApiStack, outputs: str, problem: str) -> None:
    call = f'{{"method":"createrawtransaction","params":[[],{outputs}]}}'
    named = f'{{"method":"createrawtransaction","params":{{"inputs":[],"outputs":{outputs}}}}}'
    for body in (call, named):
        assert stack.post(body.encode()).json()["error"]["message"] == f"Invalid parameter, {problem}"
    answers = stack.post(f'[{{"method":"uptime"}},{call}]'.encode()).json()
    assert answers[1]["error"]["message"] == f"Invalid parameter, {problem}"
