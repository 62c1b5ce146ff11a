"""-scriptindex on a real node: answers over HTTP, through reorganisations and kills, on both databases."""

import contextlib
import random
import threading
from collections.abc import Iterator
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from clarion.node.params.chain_params import select_params
from clarion.node.primitives.address import encode_address
from helpers.anyone import FEE_SAT, SCRIPT, made_by, mine, mine_money, send, spend
from helpers.node import Node, run_program
from helpers.random_kills import KINDS, make_home

OTHERS, ANOTHER = "raw(51)", "raw(5151)"
HASH = sha256(SCRIPT).digest()[::-1].hex()
KILLS = 4


@pytest.fixture(params=KINDS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """A node with the index, on SQLite and on PostgreSQL."""
    with make_home(request.param, tmp_path / "home") as home:
        node = Node(tmp_path / "home", "-par=1", "-scriptindex", *home.options)
        with node:
            yield node


def _get(node: Node, path: str, port: int | None = None, **query: Any) -> httpx.Response:
    user, _, password = node.cookie().partition(":")
    url = f"http://127.0.0.1:{port or node.rpc_port}/v1/scripts/{path}"
    return httpx.get(url, params=query, auth=(user, password), timeout=60)


def _ask(node: Node, path: str = HASH, **query: Any) -> dict[str, Any]:
    answer = _get(node, path, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _all(node: Node, what: str, count: int) -> list[dict[str, Any]]:
    """Return every entry, page by page."""
    entries: list[dict[str, Any]] = []
    page = _ask(node, f"{HASH}/{what}", count=count)
    while page["next"] is not None:
        assert len(page["entries"]) == count
        assert page["mempool"] == []
        entries += page["entries"]
        page = _ask(node, f"{HASH}/{what}", count=count, after=page["next"])
    return entries + page["entries"]


def _check_against_scan(node: Node, script: bytes = SCRIPT) -> None:
    """Compare with what a walk over all coins finds."""
    scan = node.rpc("scantxoutset", "start", [f"raw({script.hex()})"])
    want = {
        (each["txid"], each["vout"], _sat(each["amount"]), each["height"], each["coinbase"])
        for each in scan["unspents"]
    }
    entries = _all(node, "utxos", 1000)
    assert {(e["txid"], e["vout"], e["value_sat"], e["height"], e["coinbase"]) for e in entries} == want
    balance = _ask(node, f"{HASH}/balance")
    assert (balance["confirmed_sat"], balance["unspent"]) == (_sat(scan["total_amount"]), len(want))
    assert (balance["height"], balance["block_hash"]) == (scan["height"], scan["bestblock"])


def _check_against_blocks(node: Node) -> None:
    """Compare with what reading every block finds."""
    want = []
    for height in range(1, node.rpc("getblockcount") + 1):
        for tx in node.rpc("getblock", node.rpc("getblockhash", height), 3)["tx"]:
            received = [_sat(each["value"]) for each in tx["vout"] if each["scriptPubKey"]["hex"] == SCRIPT.hex()]
            spent = [each["prevout"] for each in tx["vin"] if "prevout" in each]
            sent = [_sat(each["value"]) for each in spent if each["scriptPubKey"]["hex"] == SCRIPT.hex()]
            if received or sent:
                want.append((tx["txid"], height, sum(received), sum(sent)))
    found = [(e["txid"], e["height"], e["received_sat"], e["sent_sat"]) for e in _all(node, "history", 7)]
    assert found == want
    assert _ask(node)["transactions"] == len(want)


def _sat(value: float | Decimal) -> int:
    return int(Decimal(str(value)).scaleb(8))


def _status(*lines: tuple[str, int]) -> str:
    return sha256("".join(f"{txid}:{height}:" for txid, height in lines).encode()).hexdigest()


def test_history_coins_balance_and_status(node: Node) -> None:
    first, second = mine_money(node, 2)
    whole = _ask(node, encode_address(SCRIPT, select_params("regtest")))
    count = node.rpc("getblockcount")
    assert (whole["scripthash"], whole["confirmed_sat"], whole["unconfirmed_sat"]) == (HASH, count * 50 * 10**8, 0)
    mined = [(each["txid"], each["height"]) for each in _all(node, "history", 50)]
    assert whole["status"] == _status(*mined)
    parent = spend([first], outputs=2)
    child = spend([made_by(parent), second])
    parent_hex, child_hex = send(node, parent), send(node, child)
    waiting = _ask(node)
    assert waiting["status"] == _status(*mined, (parent_hex, 0), (child_hex, -1))
    assert (waiting["confirmed_sat"], waiting["unconfirmed_sat"]) == (whole["confirmed_sat"], -2 * FEE_SAT)
    assert [each["txid"] for each in _ask(node, f"{HASH}/history", count=1000)["mempool"]] == [parent_hex, child_hex]
    page = _ask(node, f"{HASH}/utxos", count=1000)
    assert {each["spent_by"] for each in page["entries"]} == {None, parent_hex, child_hex}
    assert {(each["txid"], each["vout"]) for each in page["mempool"]} == {(parent_hex, 1), (child_hex, 0)}
    (block,) = node.rpc("generatetodescriptor", 1, OTHERS)
    there = _ask(node)
    assert there["block_hash"] == block
    # In the order of the block, whatever that is.
    order = [txid for txid in node.rpc("getblock", block)["tx"] if txid in (parent_hex, child_hex)]
    assert there["status"] == _status(*mined, *((txid, count + 1) for txid in order))
    assert there["confirmed_sat"] == whole["confirmed_sat"] - 2 * FEE_SAT
    _check_against_scan(node)
    _check_against_blocks(node)


def test_reorganisations(node: Node) -> None:
    money = mine_money(node, 3)
    before = _ask(node)
    tx = spend([money[0]], outputs=2)
    send(node, tx)
    (block,) = node.rpc("generatetodescriptor", 1, OTHERS)
    node.rpc("invalidateblock", block)
    # The block has left, and nothing is in its place yet: its transaction waits again.
    assert _ask(node)["confirmed_sat"] == before["confirmed_sat"]
    assert [each["txid"] for each in _ask(node, f"{HASH}/history", count=1000)["mempool"]] == [tx.txid[::-1].hex()]
    node.rpc("generateblock", ANOTHER, [])
    assert _ask(node)["unconfirmed_sat"] == -FEE_SAT
    node.rpc("reconsiderblock", block)
    mine(node, 2)
    _check_against_scan(node)
    _check_against_blocks(node)


def test_killed_at_any_moment(node: Node) -> None:
    rng = random.Random(11)
    money = mine_money(node, KILLS)
    for each in money:
        send(node, spend([each], outputs=2))
        busy = threading.Thread(target=_keep_busy, args=(node,))
        busy.start()
        busy.join(rng.uniform(0.05, 0.8))
        node.kill()
        busy.join(60)
        node.start()
    _check_against_scan(node)
    _check_against_blocks(node)


def _keep_busy(node: Node) -> None:
    """Mine and reorganise until the node is gone."""
    with contextlib.suppress(Exception):
        while True:
            mine(node, 2)
            node.rpc("invalidateblock", node.rpc("getbestblockhash"))
            node.rpc("generatetodescriptor", 2, OTHERS)


def test_what_is_asked_wrongly_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-scriptindex", "-apiworkers=0") as node:
        url = f"http://127.0.0.1:{node.rpc_port}/v1/scripts/{HASH}"
        assert httpx.get(url).status_code == 401
        assert httpx.post(url, auth=tuple(node.cookie().split(":")), json={}).status_code == 405  # type: ignore[arg-type]
        for path, query, status in (
            ("", {}, 404),
            (f"{HASH}/coins", {}, 404),
            ("bcrt1qqqqq", {}, 400),
            ("zz" * 32, {}, 400),
            (f"{HASH}/history", {"after": "1"}, 400),
            (f"{HASH}/history", {"count": "0"}, 400),
            (f"{HASH}/history", {"count": "x"}, 400),
            (f"{HASH}/utxos", {"count": "1001"}, 400),
            (f"{HASH}/utxos", {"after": "ff"}, 400),
        ):
            answer = _get(node, path, **query)
            assert (answer.status_code, answer.json().keys()) == (status, {"error"}), path
        empty = _ask(node)
        assert (empty["status"], empty["confirmed_sat"], empty["transactions"], empty["height"]) == (None, 0, 0, 0)
        assert _ask(node, f"{HASH}/history") == {**_ask(node, f"{HASH}/utxos"), "entries": []}
        assert "/v1/scripts/{script}" in httpx.get(f"http://127.0.0.1:{node.rpc_port}/openapi.json").json()["paths"]


def test_a_pruned_node_keeps_it(tmp_path: Path) -> None:
    options = ("-par=1", "-scriptindex", "-prune=1", "-fastprune")
    node = Node(tmp_path, *options)
    with node:
        mine(node, 600)
        assert node.rpc("pruneblockchain", 300) > 100
        _check_against_scan(node)
        assert _all(node, "history", 500)[0]["height"] == 1
    (tmp_path / "regtest" / "indexes" / "scriptindex.sqlite").unlink()
    refused = run_program(f"-datadir={tmp_path}", "-regtest", *options, "-listen=0", f"-rpcport={node.rpc_port}")
    assert refused.returncode == 1
    assert "scriptindex best block of the index goes beyond pruned data" in refused.stderr


def test_without_the_option_nothing_is_there(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        assert _get(node, HASH).status_code == 404
