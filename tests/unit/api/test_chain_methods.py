"""RPC methods about blocks and the chain, over a real chain in one process."""

from decimal import Decimal
from typing import Any

import pytest

from clarion.node.net.user_agent import user_agent
from helpers.api_stack import ApiStack
from helpers.chain_builder import genesis

ZERO = "0" * 64
HEADER_KEYS = [
    "hash",
    "confirmations",
    "height",
    "version",
    "versionHex",
    "merkleroot",
    "time",
    "mediantime",
    "nonce",
    "bits",
    "target",
    "difficulty",
    "chainwork",
    "nTx",
]


def test_reads_agree(stack: ApiStack) -> None:
    best = stack.result("getbestblockhash")
    assert stack.result("getblockcount") == 3
    assert stack.result("getblockhash", 3) == best
    assert stack.result("getblockhash", 0) == genesis().hash[::-1].hex()
    assert stack.result("getdifficulty") == Decimal("4.656542373906925e-10")


def test_header_of_tip_and_genesis(stack: ApiStack) -> None:
    tip = stack.result("getblockheader", stack.result("getbestblockhash"))
    first = stack.result("getblockheader", stack.result("getblockhash", 0))
    assert list(tip) == [*HEADER_KEYS, "previousblockhash"]
    assert list(first) == [*HEADER_KEYS, "nextblockhash"]
    assert (tip["confirmations"], first["confirmations"]) == (1, 4)
    assert len(stack.result("getblockheader", tip["hash"], False)) == 160


@pytest.mark.parametrize("argument", [False, 0], ids=["bool", "number"])
def test_block_as_hex(stack: ApiStack, argument: Any) -> None:
    block_hash = stack.result("getblockhash", 1)
    header = stack.result("getblockheader", block_hash, False)
    assert stack.result("getblock", block_hash, argument).startswith(header)


def test_block_by_verbosity(stack: ApiStack) -> None:
    block_hash = stack.result("getblockhash", 1)
    one = stack.result("getblock", block_hash)
    two = stack.result("getblock", blockhash=block_hash, verbose=2)
    assert one == stack.result("getblock", block_hash, True) == stack.result("getblock", block_hash, None)
    assert [tx["txid"] for tx in two["tx"]] == one["tx"]
    assert two["tx"][0]["vout"][0]["value"] == Decimal("50.00000000")


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("getblock", [ZERO], -5, "Block not found"),
        ("getblock", ["zz"], -8, "blockhash must be of length 64 (not 2, for 'zz')"),
        ("getblock", ["z" * 64], -8, f"blockhash must be hexadecimal string (not '{'z' * 64}')"),
        ("getblock", [ZERO, "x"], -3, "JSON value of type string is not of expected type number"),
        ("getblockheader", [ZERO], -5, "Block not found"),
        ("getblockhash", [-1], -8, "Block height out of range"),
        ("getblockhash", [4], -8, "Block height out of range"),
        ("getblockhash", [2**31], -1, "JSON integer out of range"),
        ("getblockhash", [1.5], -1, "JSON integer out of range"),
        ("gettxout", [ZERO, -1], -1, "JSON integer out of range"),
        ("gettxoutsetinfo", ["nosuch"], -8, "'nosuch' is not a valid hash_type"),
        ("gettxoutsetinfo", ["none", 1], -8, "Querying specific block heights requires coinstatsindex"),
        ("scantxoutset", ["nosuch"], -8, "Invalid action 'nosuch'"),
        ("scantxoutset", ["start"], -1, "scanobjects argument is required for the start action"),
        ("scantxoutset", ["start", [5]], -8, "Scan object needs to be either a string or an object"),
        ("scantxoutset", ["start", [{}]], -8, "Descriptor needs to be provided in scan object"),
        (
            "scantxoutset",
            ["start", [{"desc": "raw(51)", "range": [-1, 0]}]],
            -8,
            "Range should be greater or equal than 0",
        ),
        ("scantxoutset", ["start", ["nosuch(1)"]], -5, "'nosuch(1)' is not a valid descriptor function"),
        ("invalidateblock", [ZERO], -5, "Block not found"),
        ("reconsiderblock", [ZERO], -5, "Block not found"),
        ("preciousblock", [ZERO], -5, "Block not found"),
        ("setmocktime", [-1], -8, "Mocktime must be in the range [0, 4294967295], not -1."),
        ("getinfo", [], -32601, "Method not found"),
        ("_flush", [], -32601, "Method not found"),
    ],
)
def test_errors(stack: ApiStack, method: str, params: list[Any], code: int, message: str) -> None:
    assert stack.error(method, *params) == (code, message)


def test_invalidate_and_reconsider(own_stack: ApiStack) -> None:
    hashes = own_stack.result("generatetodescriptor", 3, "raw(51)")
    assert own_stack.result("invalidateblock", hashes[1]) is None
    assert own_stack.result("getbestblockhash") == hashes[0]
    tips = own_stack.result("getchaintips")
    assert [(tip["height"], tip["branchlen"], tip["status"]) for tip in tips] == [(3, 2, "invalid"), (1, 0, "active")]
    assert own_stack.result("getblockheader", hashes[2])["confirmations"] == -1
    assert own_stack.result("reconsiderblock", hashes[1]) is None
    assert own_stack.result("getbestblockhash") == hashes[2]


def test_precious_block_wins_a_tie(own_stack: ApiStack) -> None:
    (first,) = own_stack.result("generatetodescriptor", 1, "raw(51)")
    own_stack.result("invalidateblock", first)
    (second,) = own_stack.result("generatetodescriptor", 1, "raw(52)")
    own_stack.result("reconsiderblock", first)
    other = first if own_stack.result("getbestblockhash") == second else second
    assert own_stack.result("preciousblock", other) is None
    assert own_stack.result("getbestblockhash") == other


def test_unspent_output(stack: ApiStack) -> None:
    txid = stack.result("getblock", stack.result("getblockhash", 2))["tx"][0]
    coin = stack.result("gettxout", txid, 0)
    assert list(coin) == ["bestblock", "confirmations", "value", "scriptPubKey", "coinbase"]
    assert (coin["confirmations"], coin["value"], coin["coinbase"]) == (2, Decimal("50.00000000"), True)
    assert coin["scriptPubKey"]["desc"] == "raw(51)#8lvh9jxk"
    assert stack.result("gettxout", txid, 7) is None


def test_set_of_unspent_outputs(stack: ApiStack) -> None:
    info = stack.result("gettxoutsetinfo")
    assert list(info)[:5] == ["height", "bestblock", "txouts", "bogosize", "hash_serialized_3"]
    assert (info["txouts"], info["transactions"], info["bogosize"]) == (3, 3, 153)
    assert info["total_amount"] == Decimal("150.00000000")
    assert "hash_serialized_3" not in stack.result("gettxoutsetinfo", hash_type="none")


def test_scan(stack: ApiStack) -> None:
    found = stack.result("scantxoutset", "start", ["raw(51)", {"desc": "raw(52)", "range": [0, 5]}])
    assert (found["success"], found["txouts"], found["height"]) == (True, 3, 3)
    assert [unspent["desc"] for unspent in found["unspents"]] == ["raw(51)#8lvh9jxk"] * 3
    assert {unspent["height"] + unspent["confirmations"] for unspent in found["unspents"]} == {4}
    assert stack.result("scantxoutset", "status") is None
    assert stack.result("scantxoutset", "abort") is False


def test_one_scan_at_a_time(stack: ApiStack) -> None:
    scan = stack.context.scan
    assert scan.begin()
    scan.report(42)
    code, message = stack.error("scantxoutset", "start", ["raw(51)"])
    assert (code, message) == (-8, 'Scan already in progress, use action "abort" or "status"')
    assert stack.result("scantxoutset", "status") == {"progress": 42}
    assert stack.result("scantxoutset", "abort") is True
    assert scan.report(43)
    scan.end()


def test_chain_info(stack: ApiStack) -> None:
    info = stack.result("getblockchaininfo")
    assert (info["chain"], info["blocks"], info["headers"], info["pruned"]) == ("regtest", 3, 3, False)
    assert info["bestblockhash"] == stack.result("getbestblockhash")
    assert info["size_on_disk"] > 0
    assert "signet_challenge" not in info


def test_network_and_mempool_are_quiet(stack: ApiStack) -> None:
    info = stack.result("getnetworkinfo")
    assert (info["version"], info["subversion"]) == (310000, user_agent())
    assert user_agent(["a"]).startswith("/Satoshi:31.0.0(Clarion:")
    assert stack.result("getconnectioncount") == info["connections"] == 0
    assert stack.result("getpeerinfo") == []
    assert stack.result("getmempoolinfo")["minrelaytxfee"] == Decimal("0.00000100")
    assert stack.result("getindexinfo") == {}


def test_empty_mempool(stack: ApiStack) -> None:
    assert stack.result("getrawmempool") == []
    assert stack.result("getrawmempool", True) == {}
    assert stack.result("getrawmempool", False, True) == {"txids": [], "mempool_sequence": 1}
    assert stack.error("getrawmempool", True, True)[0] == -8
