"""What clients of the reference take for granted: each test is named after the one that breaks without it.

The rules are read off the clients' sources. Three of them run for real in tests/functional/test_rpc_clients.py.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from helpers.api_stack import ApiStack

HEIGHT = 3


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """Return an API over three blocks."""
    stack = ApiStack(tmp_path_factory.mktemp("clients")).ready()
    stack.result("generatetodescriptor", HEIGHT, "raw(51)")
    yield stack
    stack.close()


def call(method: str, *params: object, **members: object) -> dict[str, object]:
    return {"method": method, "params": params, "id": 0, **members}


@pytest.mark.parametrize("height", [HEIGHT, HEIGHT + 1], ids=["a result", "an error"])
def test_python_bitcoinrpc_compares_the_whole_content_type(stack: ApiStack, height: int) -> None:
    answer = stack.post(call("getblockhash", height, version="1.1"))
    assert answer.headers["content-type"] == "application/json"


def test_python_bitcoinrpc_reads_amounts_as_decimals(stack: ApiStack) -> None:
    answer = stack.post(call("getblock", stack.result("getbestblockhash"), 2, version="1.1"))
    value = json.loads(answer.content, parse_float=Decimal)["result"]["tx"][0]["vout"][0]["value"]
    assert isinstance(value, Decimal)
    assert b'"value":50.00000000,' in answer.content


def test_python_bitcoinlib_wants_code_and_message_in_the_body_of_a_500(stack: ApiStack) -> None:
    answer = stack.post(call("getblockhash", HEIGHT + 1, version="1.1"))
    assert answer.status_code == 500
    assert answer.json()["error"] == {"code": -8, "message": "Block height out of range"}


def test_npm_bitcoin_core_throws_unless_error_is_there_and_null(stack: ApiStack) -> None:
    answer = stack.post(call("getblockcount", id="1700000000-abc")).json()
    assert answer == {"result": HEIGHT, "error": None, "id": "1700000000-abc"}


def test_npm_bitcoin_core_cuts_the_line_end_off_a_rest_error(stack: ApiStack) -> None:
    answer = stack.get("/rest/block/00.bin")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.text == "Invalid hash: 00\r\n"


def test_electrumx_looks_for_error_in_every_member_of_a_batch(stack: ApiStack) -> None:
    batch = [call("getblockhash", height, id=height) for height in (1, HEIGHT + 1)]
    answer = stack.post(batch)
    assert answer.status_code == 200
    assert [member["error"] and member["error"]["code"] for member in answer.json()] == [None, -8]
    assert [member["id"] for member in answer.json()] == [1, HEIGHT + 1]


def test_electrumx_takes_any_other_content_type_for_a_busy_server(tmp_path: Path) -> None:
    stack = ApiStack(tmp_path, rpc_threads=1, rpc_work_queue=-1).ready()
    answer = stack.post(call("getblockcount"))
    assert answer.headers["content-type"] != "application/json"
    assert answer.text == "Work queue depth exceeded"
    stack.close()


def test_electrumx_waits_while_the_code_is_28(tmp_path: Path) -> None:
    stack = ApiStack(tmp_path)
    answer = stack.post(call("getblockcount"))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["code"] == -28
    stack.close()


def test_electrumx_reads_the_version_as_a_number(stack: ApiStack) -> None:
    assert stack.result("getnetworkinfo")["version"] // 10_000 == 31


def test_rust_jsonrpc_reads_to_the_end_without_a_content_length(stack: ApiStack) -> None:
    answer = stack.post(call("getblockcount", jsonrpc="2.0"))
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert "transfer-encoding" not in answer.headers


def test_rust_jsonrpc_compares_version_and_id(stack: ApiStack) -> None:
    answer = stack.post(call("getblockcount", jsonrpc="2.0", id=7)).json()
    assert answer == {"jsonrpc": "2.0", "result": HEIGHT, "id": 7}


def test_rust_jsonrpc_expects_no_body_with_a_401(stack: ApiStack) -> None:
    answer = stack.post(call("getblockcount"), auth=("nobody", "wrong"))
    assert (answer.status_code, answer.content) == (401, b"")


def test_btcd_takes_a_node_that_knows_getinfo_for_btcd(stack: ApiStack) -> None:
    answer = stack.post(call("getinfo", jsonrpc="1.0"))
    assert answer.status_code == 404
    assert answer.json()["error"] == {"code": -32601, "message": "Method not found"}


def test_btcd_reads_the_version_behind_satoshi(stack: ApiStack) -> None:
    subversion = stack.result("getnetworkinfo")["subversion"]
    assert subversion.startswith("/Satoshi:31.")
    assert subversion.endswith("/")


def test_btcd_sends_null_for_what_it_leaves_out(stack: ApiStack) -> None:
    best = stack.result("getbestblockhash")
    assert stack.result("getblock", best, None) == stack.result("getblock", best)


def test_btcd_asks_with_a_bool_where_others_send_a_number(stack: ApiStack) -> None:
    best = stack.result("getbestblockhash")
    assert stack.result("getblock", best, False) == stack.result("getblock", best, 0)
    assert stack.result("getblock", best, True) == stack.result("getblock", best, 1)


def test_core_lightning_goes_by_code_and_text_beyond_the_tip(stack: ApiStack) -> None:
    assert stack.error("getblockhash", HEIGHT + 1) == (-8, "Block height out of range")


def test_lnd_finds_the_zmq_topics_by_type_and_address(stack: ApiStack) -> None:
    (topic,) = stack.result("getzmqnotifications")
    assert topic == {"type": "pubhashblock", "address": "tcp://127.0.0.1:28332", "hwm": 1000}


def test_curl_sends_text_plain(stack: ApiStack) -> None:
    answer = stack.post(call("getblockcount"), headers={"Content-Type": "text/plain;"})
    assert answer.json()["result"] == HEIGHT


def test_wallets_post_to_a_wallet_s_path(stack: ApiStack) -> None:
    assert stack.post(call("getblockcount"), "/wallet/").json()["result"] == HEIGHT
