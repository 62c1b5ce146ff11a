"""Watches on a real node: over RPC, HTTP and the command line, through reorganisations and kills, on both databases."""

import contextlib
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clarion.node.params.chain_params import select_params
from clarion.node.primitives.address import encode_address
from clarion.node.primitives.descriptor_range import read_descriptor_range
from helpers.anyone import FEE_SAT, SCRIPT, mine, mine_money, send, spend
from helpers.node import Node, RpcFailure, run_program
from helpers.random_kills import KINDS, make_home
from helpers.waiting import wait_for

OTHERS, ANOTHER = "raw(51)", "raw(5151)"
XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"
RANGED = f"wpkh({XPUB}/0/*)"
PARAMS = select_params("regtest")
KILLS = 4


@pytest.fixture(params=KINDS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Node]:
    """A node that keeps watches, on SQLite and on PostgreSQL."""
    with make_home(request.param, tmp_path / "home") as home:
        node = Node(tmp_path / "home", "-par=1", "-watches", *home.options)
        with node:
            yield node


def _http(node: Node, method: str, path: str = "", body: Any = None, **query: Any) -> Any:
    user, _, password = node.cookie().partition(":")
    url = f"http://127.0.0.1:{node.rpc_port}/v1/watches{path}"
    return httpx.request(method, url, json=body, params=query, auth=(user, password), timeout=60)


def _sums(watch: dict[str, Any]) -> tuple[int, int, int]:
    return watch["received_sat"], watch["sent_sat"], watch["transactions"]


def _caught_up(node: Node, name: str) -> dict[str, Any]:
    wait_for(lambda: bool(node.rpc("getwatch", name)["caught_up"]))
    found: dict[str, Any] = node.rpc("getwatch", name)
    return found


def test_life_of_a_watch(node: Node, tmp_path: Path) -> None:
    (money, other) = mine_money(node, 2)
    address = encode_address(SCRIPT, PARAMS)
    assert node.rpc("addwatch", "late", {"addresses": [address]})["transactions"] == 0
    made = _http(node, "POST", body={"name": "all", "scripts": [SCRIPT.hex()], "start": 0}).json()
    assert (made["name"], made["start"]) == ("all", 0)
    count = node.rpc("getblockcount")
    for method, what in (("addwatch", {"scripts": ["51"], "start": count + 2}), ("rescanwatch", count + 2)):
        with pytest.raises(RpcFailure, match=f"no such height {count + 2}; the chain's height is {count}"):
            node.rpc(method, "all", what)
    whole = _caught_up(node, "all")
    assert whole["balance_sat"] == count * 50 * 10**8
    tx = spend([money], outputs=2)
    send(node, tx)
    (block,) = node.rpc("generatetodescriptor", 1, OTHERS)
    late = node.rpc("getwatch", "late")
    assert _sums(late) == (money.value - FEE_SAT, money.value, 1)
    entries = _http(node, "GET", "/late/history").json()["entries"]
    assert [(each["txid"], each["block_hash"]) for each in entries] == [(tx.txid[::-1].hex(), block)]
    node.rpc("invalidateblock", block)
    node.rpc("generatetodescriptor", 2, ANOTHER)
    assert _sums(node.rpc("getwatch", "late"))[2] == 1, "the transaction came back with the other branch"
    assert node.rpc("getwatch", "all")["balance_sat"] == whole["balance_sat"] - FEE_SAT
    send(node, spend([other]))
    node.rpc("generatetodescriptor", 1, OTHERS)
    page = node.rpc("getwatchhistory", "late", None, 1)
    assert len(page["entries"]) == 1
    assert len(node.rpc("getwatchhistory", "late", page["next"])["entries"]) == 1
    options = (f"-datadir={tmp_path / 'home'}", "-regtest", f"-rpcport={node.rpc_port}")
    listed = json.loads(run_program("events", "watch", "list", *options).stdout)
    assert [each["name"] for each in listed] == ["late", "all"]
    again = run_program("events", "watch", "rescan", "late", "start=0", *options)
    assert json.loads(again.stdout)["start"] == 0
    assert _caught_up(node, "late")["balance_sat"] == node.rpc("getwatch", "all")["balance_sat"]
    assert json.loads(run_program("events", "watch", "remove", "all", *options).stdout) == {"removed": "all"}
    refused = run_program("events", "watch", "show", "all", *options)
    assert (refused.returncode, refused.stderr) == (1, "Error: There is no watch 'all'\n")
    assert _http(node, "GET", "/all").status_code == 404
    with pytest.raises(RpcFailure, match="no watch 'all'"):
        node.rpc("removewatch", "all")


def test_watched_descriptor_grows_with_its_use(node: Node) -> None:
    (money,) = mine_money(node, 1)
    derived = [script for script, _ in read_descriptor_range({"desc": RANGED, "range": 9}, PARAMS).scripts(0, 9)]
    made = node.rpc("addwatch", "till", {"descriptors": [{"desc": RANGED, "gap": 3}]})
    assert (made["scripts"], made["descriptors"][0]["range"]) == (3, [0, 2])
    for index in (2, 5, 9):
        node.rpc("generatetodescriptor", 1, f"raw({derived[index].hex()})")
    till = node.rpc("getwatch", "till")
    assert (till["transactions"], till["descriptors"][0]["range"]) == (2, [0, 8])
    node.rpc("extendwatch", "till", {"scripts": [SCRIPT.hex()]})
    send(node, spend([money]))
    node.rpc("generatetodescriptor", 1, OTHERS)
    assert node.rpc("getwatch", "till")["transactions"] == 3


def test_watches_agree_with_the_chain_after_kills_in_the_middle_of_blocks_and_rescans(node: Node) -> None:
    rng = random.Random(7)
    money = mine_money(node, KILLS)
    node.rpc("addwatch", "follows", {"scripts": [SCRIPT.hex()], "start": 0})
    node.rpc("addwatch", "restarts", {"scripts": [SCRIPT.hex()], "start": 0})
    for round_ in range(KILLS):
        send(node, spend([money[round_]]))
        node.rpc("rescanwatch", "restarts", 0)
        busy = threading.Thread(target=_keep_busy, args=(node,))
        busy.start()
        busy.join(rng.uniform(0.05, 0.8))
        node.kill()
        busy.join(60)
        node.start()
    follows, restarts = _caught_up(node, "follows"), _caught_up(node, "restarts")
    assert _sums(follows) == _sums(restarts)
    assert follows["block_hash"] == node.rpc("getbestblockhash")
    assert _sums(follows) == _sums_of_the_chain(node)


def _keep_busy(node: Node) -> None:
    """Mine and reorganise until the node is gone."""
    with contextlib.suppress(OSError, RpcFailure, httpx.HTTPError, Exception):
        while True:
            mine(node, 2)
            node.rpc("invalidateblock", node.rpc("getbestblockhash"))
            node.rpc("generatetodescriptor", 2, OTHERS)


def _sums_of_the_chain(node: Node) -> tuple[int, int, int]:
    """Return what the script received and sent, and in how many transactions, by reading every block."""
    received = sent = transactions = 0
    for height in range(1, node.rpc("getblockcount") + 1):
        block = node.rpc("getblock", node.rpc("getblockhash", height), 3)
        for tx in block["tx"]:
            got = [_sat(out) for out in tx["vout"] if out["scriptPubKey"]["hex"] == SCRIPT.hex()]
            spent = [each["prevout"] for each in tx["vin"] if "prevout" in each]
            gone = [_sat(each) for each in spent if each["scriptPubKey"]["hex"] == SCRIPT.hex()]
            received, sent = received + sum(got), sent + sum(gone)
            transactions += bool(got or gone)
    return received, sent, transactions


def _sat(output: dict[str, Any]) -> int:
    return int(output["value"] * 100_000_000)


def test_without_watches_nothing_is_there(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        assert _http(node, "GET").status_code == 404
        with pytest.raises(RpcFailure, match="Method not found"):
            node.rpc("listwatches")
        options = (f"-datadir={tmp_path}", "-regtest", f"-rpcport={node.rpc_port}")
        assert "-watches" in run_program("events", "watch", "list", *options).stderr


def test_watches_are_for_those_with_a_password(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-watches", "-apiworkers=0") as node:
        url = f"http://127.0.0.1:{node.rpc_port}/v1/watches"
        assert httpx.get(url).status_code == 401
        assert _http(node, "PUT").status_code == 405
        assert _http(node, "POST", body=[1]).status_code == 400
        assert _http(node, "POST", body={"name": "a", "scripts": ["51"]}).json()["scripts"] == 1
        assert _http(node, "GET", "/a/history", count="x").status_code == 400
        assert "/v1/watches" in httpx.get(f"http://127.0.0.1:{node.rpc_port}/openapi.json").json()["paths"]
        assert "addwatch" in node.rpc("help")
