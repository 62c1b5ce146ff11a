"""createpsbt, converttopsbt, decodepsbt, combinepsbt and joinpsbts."""

import base64
from typing import Any

import pytest

from clarion.node.script.psbt.psbt import parse_psbt
from helpers.api_stack import ApiStack

ADDRESS = "bcrt1qmpwzkuwsqc9snjvgdt4czhjsnywa5yjdqpxskv"
FIRST = {"txid": "11" * 32, "vout": 0}
SECOND = {"txid": "22" * 32, "vout": 1}
# What the reference answers to createpsbt of these arguments.
CREATED = (
    "cHNidP8BAgQCAAAAAQMEAAAAAAEEAQEBBQEBAfsEAgAAAAABDiAREREREREREREREREREREREREREREREREREREREREREQEPBAAAAAABEAT9////"
    "AAEDCADh9QUAAAAAAQQWABTYXCtx0AYLCcmIauuBXlCZHdoSTQA="
)
NO_PSBT = "TX decode failed Invalid PSBT magic bytes: iostream error"


@pytest.fixture
def created(stack: ApiStack) -> str:
    """Return a PSBT of version 0."""
    return stack.result("createpsbt", [FIRST], {ADDRESS: 1}, 0, True, 2, 0)


def test_created_as_the_reference(stack: ApiStack) -> None:
    assert stack.result("createpsbt", [FIRST], {ADDRESS: 1}) == CREATED
    assert stack.result("decodepsbt", CREATED)["inputs"][0]["previous_txid"] == FIRST["txid"]


@pytest.mark.parametrize("version", [1, 3])
def test_version_that_does_not_exist(stack: ApiStack, version: int) -> None:
    error = (-8, "The PSBT version can only be 2 or 0")
    assert stack.error("createpsbt", [FIRST], {ADDRESS: 1}, 0, None, 2, version) == error
    raw = stack.result("createrawtransaction", [FIRST], {ADDRESS: 1})
    assert stack.error("converttopsbt", raw, False, None, version) == error


def test_converted_transaction_is_the_created_one(stack: ApiStack, created: str) -> None:
    raw = stack.result("createrawtransaction", [FIRST], {ADDRESS: 1})
    assert stack.result("converttopsbt", raw) == CREATED
    assert stack.result("converttopsbt", raw, False, None, 0) == created
    assert stack.result("decodepsbt", created)["tx"]["vout"][0]["value"] == 1


def test_signatures_are_refused_unless_they_may_go(stack: ApiStack) -> None:
    raw = stack.result("createrawtransaction", [FIRST], {ADDRESS: 1})
    signed = raw[:82] + "0151" + raw[84:]
    message = "Inputs must not have scriptSigs and scriptWitnesses"
    assert stack.error("converttopsbt", signed) == (-22, message)
    assert stack.result("converttopsbt", signed, True) == CREATED


@pytest.mark.parametrize(
    ("method", "argument", "code", "message"),
    [
        ("decodepsbt", "AAAAAAAA", -22, NO_PSBT),
        ("decodepsbt", "AAA", -22, "TX decode failed invalid base64"),
        ("decodepsbt", CREATED[:-8], -22, "TX decode failed SpanReader::read(): end of data: iostream error"),
        (
            "decodepsbt",
            base64.b64encode(base64.b64decode(CREATED) + b"\0").decode(),
            -22,
            "TX decode failed extra data after PSBT",
        ),
        ("combinepsbt", [], -8, "Parameter 'txs' cannot be empty"),
        ("combinepsbt", ["AAAAAAAA"], -22, NO_PSBT),
        ("joinpsbts", [CREATED], -8, "At least two PSBTs are required to join PSBTs."),
        ("joinpsbts", [CREATED, CREATED], -8, "joinpsbts only operates on version 0 PSBTs"),
    ],
)
def test_refused_arguments(stack: ApiStack, method: str, argument: Any, code: int, message: str) -> None:
    assert stack.error(method, argument) == (code, message)


def test_combined_only_with_the_same_transaction(stack: ApiStack, created: str) -> None:
    other = stack.result("createpsbt", [SECOND], {ADDRESS: 1}, 0, None, 2, 0)
    message = "PSBTs not compatible (different transactions)"
    assert stack.error("combinepsbt", [created, other]) == (-8, message)
    assert stack.result("combinepsbt", [created, created]) == created


def test_joined_psbts_have_all_inputs_and_outputs(stack: ApiStack, created: str) -> None:
    other = stack.result("createpsbt", [SECOND], [{"data": "00"}], 5, None, 2, 0)
    joined = parse_psbt(base64.b64decode(stack.result("joinpsbts", [created, other])))
    assert {each.prev_index for each in joined.inputs} == {0, 1}
    assert sorted(each.amount for each in joined.outputs) == [0, 1_00000000]
    assert joined.lock_time() == 0


def test_joined_psbts_share_no_input(stack: ApiStack, created: str) -> None:
    message = f"Input {FIRST['txid']}:0 exists in multiple PSBTs"
    assert stack.error("joinpsbts", [created, created]) == (-8, message)
