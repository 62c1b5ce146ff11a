"""What -txospenderindex, -blockfilterindex and -coinstatsindex answer."""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import pytest

from clarion.node.primitives.hashes import sha256, sha256d
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.node.primitives.script import witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.plugins.bundled.blockfilterindex import BasicFilterIndex
from clarion.plugins.bundled.coinstatsindex import CoinStatsIndex
from clarion.plugins.bundled.txospenderindex import TxoSpenderIndex
from helpers.api_stack import ApiStack

ANYONE = witness_script(0, sha256(b"\x51"))


class Spent(NamedTuple):
    """A chain of 103 blocks; in the last, `tx` spends output 0 of `coinbase`, and burns 0.1."""

    stack: ApiStack
    block: str
    tx: Transaction
    coinbase: str


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spent]:
    indexes = [TxoSpenderIndex(), BasicFilterIndex(), CoinStatsIndex()]
    stack = ApiStack(tmp_path_factory.mktemp("indexes"), indexes=indexes).ready()
    first = stack.result("generatetodescriptor", 102, f"raw({ANYONE.hex()})")[0]
    coinbase = stack.result("getblock", first)["tx"][0]
    txin = TxIn(make_outpoint(hash_from_hex(coinbase), 0), witness=(b"\x51",))
    tx = Transaction(2, [txin], [TxOut(49_80000000, ANYONE), TxOut(10000000, b"\x6a")])
    block = stack.result("generateblock", "raw(51)", [tx.raw.hex()])["hash"]
    yield Spent(stack, block, tx, coinbase)
    stack.close()


def test_spender_in_a_block(spent: Spent) -> None:
    asked = [{"txid": spent.coinbase, "vout": 0}, {"txid": spent.coinbase, "vout": 7}]
    found, unspent = spent.stack.result("gettxspendingprevout", asked, {"return_spending_tx": True})
    assert (found["spendingtxid"], found["spendingtx"]) == (spent.tx.txid[::-1].hex(), spent.tx.raw.hex())
    assert found["blockhash"] == spent.block
    assert unspent == asked[1]
    assert spent.stack.result("gettxspendingprevout", asked, {"mempool_only": True}) == asked


def test_spends_of_the_mempool_come_first(spent: Spent) -> None:
    child = Transaction(2, [TxIn(make_outpoint(spent.tx.txid, 0), witness=(b"\x51",))], [TxOut(49_70000000, ANYONE)])
    spent.stack.result("sendrawtransaction", child.raw.hex(), 0)
    asked = [{"txid": spent.coinbase, "vout": 0}, {"txid": spent.tx.txid[::-1].hex(), "vout": 0}]
    first, second = spent.stack.result("gettxspendingprevout", asked)
    assert (first["txid"], first["spendingtxid"]) == (asked[1]["txid"], child.txid[::-1].hex())
    assert "blockhash" not in first
    assert second["blockhash"] == spent.block


def test_filter_and_header(spent: Spent) -> None:
    answer = spent.stack.result("getblockfilter", spent.block)
    encoded = bytes.fromhex(answer["filter"])
    before = spent.stack.result("getblockfilter", spent.stack.result("getblockhash", 102))["header"]
    want = sha256d(sha256d(encoded) + bytes.fromhex(before)[::-1])[::-1].hex()
    assert answer["header"] == want
    rest = spent.stack.get(f"/rest/blockfilter/basic/{spent.block}.bin").content
    assert rest == b"\x00" + bytes.fromhex(spent.block)[::-1] + bytes((len(encoded),)) + encoded
    assert spent.stack.get(f"/rest/blockfilterheaders/basic/{spent.block}.json").json() == [want]


def test_many_filter_headers(spent: Spent) -> None:
    start = spent.stack.result("getblockhash", 1)
    new, old = (
        spent.stack.get(f"/rest/blockfilterheaders/basic/{path}").content
        for path in (f"{start}.bin?count=40", f"40/{start}.bin")
    )
    assert new == old
    assert len(new) == 40 * 32


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("blockfilter/basic/xx.hex", 400, "Invalid hash: xx"),
        ("blockfilter/basic.hex", 400, "Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>"),
        (f"blockfilter/other/{'ab' * 32}.hex", 400, "Unknown filtertype other"),
        (f"blockfilter/basic/{'ab' * 32}.hex", 404, f"{'ab' * 32} not found"),
        (
            f"blockfilterheaders/basic/{'ab' * 32}.hex?count=2001",
            400,
            "Header count is invalid or out of acceptable range (1-2000): 2001",
        ),
    ],
)
def test_refused_over_rest(spent: Spent, path: str, status: int, text: str) -> None:
    answer = spent.stack.get(f"/rest/{path}")
    assert (answer.status_code, answer.text) == (status, text + "\r\n")


def test_refused_filters(spent: Spent) -> None:
    assert spent.stack.error("getblockfilter", spent.block, "other") == (-5, "Unknown filtertype")
    assert spent.stack.error("getblockfilter", "ab" * 32) == (-5, "Block not found")


def test_statistics_with_and_without_the_index_agree(spent: Spent) -> None:
    by_index = spent.stack.result("gettxoutsetinfo", "muhash")
    by_walk = spent.stack.result("gettxoutsetinfo", "muhash", None, False)
    for name in ("height", "bestblock", "txouts", "bogosize", "muhash", "total_amount"):
        assert by_index[name] == by_walk[name]
    assert "transactions" not in by_index
    assert by_walk["transactions"] > 0


def test_what_one_block_did(spent: Spent) -> None:
    answer = spent.stack.result("gettxoutsetinfo", "none", 103)
    assert answer == spent.stack.result("gettxoutsetinfo", "none", spent.block)
    info = answer["block_info"]
    assert (info["prevout_spent"], info["new_outputs_ex_coinbase"]) == (Decimal(50), Decimal("49.8"))
    assert info["unspendables"]["scripts"] == Decimal("0.1")
    assert spent.stack.result("gettxoutsetinfo", "none", 0)["block_info"]["unspendables"]["genesis_block"] == 50


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        (["hash_serialized_3", 1], -8, "hash_serialized_3 hash type cannot be queried for a specific block"),
        (["none", 1, False], -8, "Cannot set use_index to false when querying for a specific block"),
        (["none", 1000], -8, "Target block height 1000 after current tip 103"),
        (["none", "ab" * 32], -5, "Block not found"),
    ],
)
def test_refused_statistics(spent: Spent, params: list[object], code: int, message: str) -> None:
    assert spent.stack.error("gettxoutsetinfo", *params) == (code, message)


def test_without_the_indexes(tmp_path_factory: pytest.TempPathFactory) -> None:
    stack = ApiStack(tmp_path_factory.mktemp("none")).ready()
    genesis = stack.result("getblockhash", 0)
    assert stack.error("getblockfilter", genesis) == (-1, "Index is not enabled for filtertype basic")
    assert stack.get(f"/rest/blockfilter/basic/{genesis}.hex").text == "Index is not enabled for filtertype basic\r\n"
    asked = [{"txid": "ab" * 32, "vout": 0}]
    assert stack.error("gettxspendingprevout", asked, {"mempool_only": False}) == (
        -1,
        "Mempool lacks a relevant spend, and txospenderindex is unavailable.",
    )
    stack.close()


def test_scan_finds_the_blocks_of_a_script(spent: Spent) -> None:
    everything = spent.stack.result("scanblocks", "start", [f"raw({ANYONE.hex()})"])
    assert (everything["from_height"], everything["to_height"], everything["completed"]) == (0, 103, True)
    assert len(everything["relevant_blocks"]) == 103
    few = spent.stack.result("scanblocks", "start", ["raw(51)"], 100, 103, "basic", {"filter_false_positives": True})
    assert few == {"from_height": 100, "to_height": 103, "relevant_blocks": [spent.block], "completed": True}


def test_scan_leaves_out_what_only_seems_to_match(spent: Spent) -> None:
    genesis = spent.stack.result("getblockhash", 0)
    collision = "raw(001400000000000000000000000000000000000cadcb)"
    assert spent.stack.result("scanblocks", "start", [collision], 0, 0)["relevant_blocks"] == [genesis]
    options = {"filter_false_positives": True}
    answer = spent.stack.result("scanblocks", "start", [collision], 0, 0, "basic", options)
    assert answer["relevant_blocks"] == []


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        (["start", ["raw(51)"], 104], -1, "Invalid start_height"),
        (["start", ["raw(51)"], 10, 9], -1, "Invalid stop_height"),
        (["start", ["raw(51)"], 10, 104], -1, "Invalid stop_height"),
        (["start", ["raw(51)"], 0, 10, "extended"], -5, "Unknown filtertype"),
        (["jump"], -8, "Invalid action 'jump'"),
    ],
)
def test_refused_scans(spent: Spent, params: list[object], code: int, message: str) -> None:
    assert spent.stack.error("scanblocks", *params) == (code, message)
    assert spent.stack.result("scanblocks", "status") is None
    assert spent.stack.result("scanblocks", "abort") is False


def test_one_scan_at_a_time(spent: Spent) -> None:
    scan = spent.stack.context.filter_scan
    assert scan.begin()
    scan.report(40, 41)
    assert spent.stack.result("scanblocks", "status") == {"progress": 40, "current_height": 41}
    code, message = spent.stack.error("scanblocks", "start", ["raw(51)"])
    assert (code, message) == (-8, 'Scan already in progress, use action "abort" or "status"')
    assert spent.stack.result("scanblocks", "abort") is True
    scan.end()


def test_activity_of_a_descriptor(spent: Spent) -> None:
    activity = spent.stack.result("getdescriptoractivity", [spent.block], [f"raw({ANYONE.hex()})"], False)["activity"]
    spend, receive = activity
    assert (spend["type"], spend["prevout_txid"], spend["height"]) == ("spend", spent.coinbase, 103)
    assert (receive["type"], receive["txid"], receive["vout"]) == ("receive", spent.tx.txid[::-1].hex(), 0)
    assert (spend["amount"], receive["amount"]) == (50, Decimal("49.8"))
    assert receive["output_spk"]["hex"] == ANYONE.hex()


def test_activity_in_the_mempool(spent: Spent) -> None:
    child = Transaction(2, [TxIn(make_outpoint(spent.tx.txid, 0), witness=(b"\x51",))], [TxOut(49_70000000, ANYONE)])
    spent.stack.call("sendrawtransaction", child.raw.hex(), 0)
    spend, receive = spent.stack.result("getdescriptoractivity", [], [f"raw({ANYONE.hex()})"])["activity"]
    assert (spend["spend_txid"], receive["txid"]) == (child.txid[::-1].hex(),) * 2
    assert "blockhash" not in spend
    assert spent.stack.error("getdescriptoractivity", ["ab" * 32], []) == (-5, "Block not found")
