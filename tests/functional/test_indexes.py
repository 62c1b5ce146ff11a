"""Indexes of a real node: killed while they are built, over a reorganisation, on both sides of a restart."""

import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from helpers.node import Node, run_program
from helpers.zigzag import Zigzag, make_zigzag

PATIENCE_S = 60
INDEXES = ("-txindex", "-txospenderindex", "-blockfilterindex", "-coinstatsindex", "-scriptindex")
NAMES = {"txindex", "txospenderindex", "basic block filter index", "coinstatsindex", "scriptindex"}
# Makes the building of indexes take its time, in small commits.
_SLOW = """
import time
from clarion.node.chain.indexes import runner
from clarion.plugins import hookimpl
runner.BATCH_BYTES = 3_000
step = runner.IndexRunner._step
def slow(self, *args):
    time.sleep(0.05)
    return step(self, *args)
runner.IndexRunner._step = slow
@hookimpl
def configure(config): pass
"""


@pytest.fixture(scope="module")
def zigzag(tmp_path_factory: pytest.TempPathFactory) -> Zigzag:
    """The blocks, with stale branches."""
    return make_zigzag(tmp_path_factory)


@pytest.fixture
def datadir(zigzag: Zigzag, tmp_path: Path) -> Path:
    """Return a data directory with the chain, without an index."""
    folder = tmp_path / "data"
    folder.mkdir()
    done = run_program("import", str(zigzag.path), "-regtest", f"-datadir={folder}", "-par=1")
    assert done.returncode == 0, done.stderr
    return folder


def wait_synced(node: Node) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        states: dict[str, Any] = node.rpc("getindexinfo")
        height = node.rpc("getblockcount")
        if all(state == {"synced": True, "best_block_height": height} for state in states.values()):
            return states
        assert time.monotonic() < deadline, (states, node.debug_log()[-2000:])
        time.sleep(0.05)


def test_killed_while_they_are_built(datadir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_indexes.py").write_text(_SLOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    node = Node(datadir, *INDEXES, "-par=1")
    reached = []
    for _ in range(3):
        node.start("-plugin=slow_indexes")
        time.sleep(0.4)
        reached.append(node.rpc("getindexinfo")["coinstatsindex"])
        node.kill()
    assert not any(state["synced"] for state in reached)
    assert 0 < reached[0]["best_block_height"] < reached[2]["best_block_height"]
    node.start()
    assert wait_synced(node).keys() == NAMES
    check_everything(node)
    assert node.stop() == 0


def test_indexes_follow_a_reorganisation(datadir: Path) -> None:
    with Node(datadir, *INDEXES, "-par=1") as node:
        wait_synced(node)
        left = node.rpc("getbestblockhash")
        node.rpc("invalidateblock", node.rpc("getblockhash", node.rpc("getblockcount") - 3))
        node.rpc("generatetodescriptor", 5, "raw(51)")
        assert node.rpc("getblockfilter", left)["filter"]
        wait_synced(node)
        check_everything(node)


def check_everything(node: Node) -> None:
    """Compare what the indexes say with what is known without them."""
    by_index, by_walk = node.rpc("gettxoutsetinfo", "muhash"), node.rpc("gettxoutsetinfo", "muhash", None, False)
    for name in ("bestblock", "txouts", "muhash", "total_amount", "bogosize"):
        assert by_index[name] == by_walk[name]
    tip = node.rpc("getblock", node.rpc("getbestblockhash"), 2)
    check_scripts(node, {out["scriptPubKey"]["hex"] for tx in tip["tx"] for out in tx["vout"]})
    for height in (1, tip["height"] // 2, tip["height"]):
        block = node.rpc("getblock", node.rpc("getblockhash", height), 2)
        for tx in block["tx"]:
            assert node.rpc("getrawtransaction", tx["txid"], 1)["blockhash"] == block["hash"]
            for txin in tx["vin"][:1]:
                if "txid" in txin:
                    asked = [{"txid": txin["txid"], "vout": txin["vout"]}]
                    assert node.rpc("gettxspendingprevout", asked)[0]["spendingtxid"] == tx["txid"]
        assert node.rpc("getblockfilter", block["hash"])["filter"]


def check_scripts(node: Node, scripts: set[str]) -> None:
    """Compare the balances of scripts with a walk over all coins."""
    login = tuple(node.cookie().split(":"))
    for script in scripts:
        name = sha256(bytes.fromhex(script)).digest()[::-1].hex()
        url = f"http://127.0.0.1:{node.rpc_port}/v1/scripts/{name}/balance"
        found = httpx.get(url, auth=(login[0], login[1]), timeout=60).json()
        scan = node.rpc("scantxoutset", "start", [f"raw({script})"])
        assert (found["unspent"], found["block_hash"]) == (len(scan["unspents"]), scan["bestblock"])
        assert found["confirmed_sat"] == round(scan["total_amount"] * 100_000_000)
