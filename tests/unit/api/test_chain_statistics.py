"""getblockstats, getchaintxstats, getdeploymentinfo, getchainstates, and proofs, over a real chain in one process."""

from decimal import Decimal
from typing import Any

import pytest

from helpers.api_stack import ApiStack
from helpers.chain_builder import INITIAL_SUBSIDY

ZERO = "0" * 64


def test_stats_of_a_block_without_transactions(stack: ApiStack) -> None:
    stats = stack.result("getblockstats", 1)
    assert (stats["txs"], stats["ins"], stats["totalfee"], stats["subsidy"]) == (1, 0, 0, INITIAL_SUBSIDY)
    # Two outputs: an anyone-can-spend one (8 + 1 + 1 bytes and 40 around it) and the commitment, which is no coin.
    assert (stats["outs"], stats["utxo_increase"], stats["utxo_increase_actual"]) == (2, 2, 1)
    assert (stats["utxo_size_inc_actual"], stats["utxo_size_inc"]) == (50, 50 + 87)
    assert stats["feerate_percentiles"] == [0, 0, 0, 0, 0]


def test_genesis_adds_nothing_to_the_set(stack: ApiStack) -> None:
    stats = stack.result("getblockstats", 0, ["utxo_increase", "utxo_increase_actual", "outs"])
    assert stats == {"outs": 1, "utxo_increase": 1, "utxo_increase_actual": 0}


def test_window_of_transactions(stack: ApiStack) -> None:
    tip = stack.result("getblockheader", stack.result("getbestblockhash"))
    stats = stack.result("getchaintxstats")
    assert (stats["txcount"], stats["window_block_count"], stats["window_tx_count"]) == (4, 2, 2)
    assert (stats["time"], stats["window_final_block_hash"]) == (tip["time"], tip["hash"])
    assert "txrate" not in stack.result("getchaintxstats", 0)


def test_deployments_of_regtest(stack: ApiStack) -> None:
    info = stack.result("getdeploymentinfo")
    assert list(info["deployments"]) == ["bip34", "bip66", "bip65", "csv", "segwit", "testdummy"]
    assert info["deployments"]["segwit"] == {"type": "buried", "active": True, "height": 0}
    assert info["deployments"]["testdummy"]["bip9"]["status"] == "defined"
    assert "CHECKSEQUENCEVERIFY" in info["script_flags"]
    genesis = stack.result("getdeploymentinfo", stack.result("getblockhash", 0))
    assert genesis["script_flags"] == ["NULLDUMMY", "P2SH", "TAPROOT", "WITNESS"]


def test_only_one_chainstate(stack: ApiStack) -> None:
    states = stack.result("getchainstates")
    (state,) = states["chainstates"]
    assert (states["headers"], state["blocks"], state["validated"]) == (3, 3, True)
    assert state["bestblockhash"] == stack.result("getbestblockhash")
    assert state["verificationprogress"] == Decimal(1)


def test_proof_by_an_unspent_output(stack: ApiStack) -> None:
    (txid,) = stack.result("getblock", stack.result("getblockhash", 2))["tx"]
    proof = stack.result("gettxoutproof", [txid])
    assert proof == stack.result("gettxoutproof", [txid], stack.result("getblockhash", 2))
    assert stack.result("verifytxoutproof", proof) == [txid]
    # The same tree under another root proves nothing; under an unknown header it is an error.
    assert stack.result("verifytxoutproof", proof[:72] + "00" * 32 + proof[136:]) == []
    assert stack.error("verifytxoutproof", "01" + proof[2:]) == (-5, "Block not found in chain")


@pytest.mark.parametrize(
    ("method", "params", "code", "message"),
    [
        ("getblockstats", [4], -8, "Target block height 4 after current tip 3"),
        ("getblockstats", [-1], -8, "Target block height -1 is negative"),
        ("getblockstats", [ZERO], -5, "Block not found"),
        ("getblockstats", ["00"], -8, "hash_or_height must be of length 64 (not 2, for '00')"),
        ("getblockstats", [1, ["nosuch"]], -8, "Invalid selected statistic 'nosuch'"),
        ("getblockstats", [1, [1]], -3, "JSON value of type number is not of expected type string"),
        ("getchaintxstats", [3], -8, "Invalid block count: should be between 0 and the block's height - 1"),
        ("getchaintxstats", [-1], -8, "Invalid block count: should be between 0 and the block's height - 1"),
        ("getchaintxstats", [1, ZERO], -5, "Block not found"),
        ("getdeploymentinfo", [ZERO], -5, "Block not found"),
        ("gettxoutproof", [[]], -8, "Parameter 'txids' cannot be empty"),
        ("gettxoutproof", [[ZERO, ZERO]], -8, f"Invalid parameter, duplicated txid: {ZERO}"),
        ("gettxoutproof", [[ZERO]], -5, "Transaction not yet in block"),
        ("gettxoutproof", [[ZERO], ZERO], -5, "Block not found"),
        ("verifytxoutproof", ["xx"], -8, "proof must be hexadecimal string (not 'xx')"),
        ("verifytxoutproof", [""], -8, "proof must be hexadecimal string (not '')"),
        ("verifytxoutproof", ["00"], -1, "SpanReader::read(): end of data: iostream error"),
    ],
)
def test_refusals(stack: ApiStack, method: str, params: list[Any], code: int, message: str) -> None:
    assert stack.error(method, *params) == (code, message)
