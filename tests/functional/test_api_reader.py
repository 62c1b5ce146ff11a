"""`clarion api`: an API on a node's database, beside the node or with a data directory of its own."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from helpers.api_reader import ApiReader
from helpers.databases import postgres_schema
from helpers.node import Node, RpcFailure, free_port, process_ids_below, run_program
from helpers.waiting import wait_for

BLOCKS = 105
INDEXES = ("-txindex=1", "-coinstatsindex=1", "-blockfilterindex=1", "-scriptindex=1")
_OF_POOL = ("unconfirmed_sat", "mempool")


@dataclass(frozen=True)
class Pair:
    """A node, and a reader of its database and block files."""

    node: Node
    reader: ApiReader


@pytest.fixture(scope="module", params=["same data directory", "database server"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return both, after some blocks: on one data directory, or the reader with its own, as on another machine."""
    folder = tmp_path_factory.mktemp("node")
    with ExitStack() as stack:
        options = list(INDEXES)
        where, elsewhere = folder, []
        if request.param == "database server":
            options.append(f"-database={stack.enter_context(postgres_schema())}")
            where, elsewhere = tmp_path_factory.mktemp("reader"), [f"-blocksdir={folder}"]
        node = stack.enter_context(Node(folder, "-par=1", "-apiworkers=0", "-eventsprocess=0", *options))
        node.rpc("generatetodescriptor", BLOCKS, "raw(51)")
        yield Pair(node, stack.enter_context(ApiReader(where, "-apiworkers=2", *elsewhere, *options)))


READS = [
    ("getblockcount", []),
    ("getblockchaininfo", []),
    ("getchaintips", []),
    ("getdeploymentinfo", []),
    ("getindexinfo", []),
    ("getindexinfo", ["txindex"]),
    ("getindexinfo", ["nosuch"]),
    ("getbestblockhash", []),
    ("getblock", ["TIP", 0]),
    ("getblock", ["TIP", 3]),
    ("getblockheader", ["TIP"]),
    ("getblockstats", ["TIP"]),
    ("getchaintxstats", []),
    ("getblockfilter", ["TIP"]),
    ("gettxoutsetinfo", []),
    ("gettxoutsetinfo", ["muhash", 50]),
    ("scantxoutset", ["start", ["raw(51)"]]),
    ("getrawtransaction", ["TX", 2]),
    ("gettxoutproof", [["TX"]]),
    ("gettxout", ["TX", 0, False]),
    ("gettxout", ["TX", 7, False]),
    ("validateaddress", ["mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z"]),
]


@pytest.mark.parametrize(("method", "params"), READS, ids=str)
def test_reads_are_the_node_s(pair: Pair, method: str, params: list[object]) -> None:
    tip = pair.node.rpc("getbestblockhash")
    txid = pair.node.rpc("getblock", tip)["tx"][0]
    call = json.loads(json.dumps(params).replace("TIP", tip).replace("TX", txid))
    expected, found = pair.node.rpc(method, *call), pair.reader.rpc(method, *call)
    if isinstance(expected, dict):
        # What is told of a file of the node's own data directory.
        expected.pop("disk_size", None)
        found.pop("disk_size", None)
    assert found == expected


def test_rest_reads_are_the_node_s(pair: Pair) -> None:
    tip = pair.node.rpc("getbestblockhash")
    txid = pair.node.rpc("getblock", tip)["tx"][0]
    for path in (f"block/{tip}.bin", f"block/{tip}.json", f"spenttxouts/{tip}.bin", f"getutxos/{txid}-0.json"):
        assert pair.reader.rest(path) == pair.node.rest(path)
    assert pair.reader.rest("mempool/info.json")[0] == 503


def test_scripts_are_told_without_a_mempool(pair: Pair) -> None:
    path = f"/v1/scripts/{sha256(bytes((0x51,))).digest()[::-1].hex()}"
    login = base64.b64encode(pair.node.cookie().encode()).decode()
    answers = []
    for what in ("", "/history?count=1000", "/utxos?count=1000"):
        told = pair.reader.request("GET", path + what, None, {"Authorization": pair.reader.authorization()})[1]
        found = json.loads(told)
        url = f"http://127.0.0.1:{pair.node.rpc_port}{path}{what}"
        expected = httpx.get(url, headers={"Authorization": f"Basic {login}"}).json()
        answers.append((found, {name: None if name in _OF_POOL else value for name, value in expected.items()}))
    assert [found for found, _ in answers] == [expected for _, expected in answers]
    assert answers[0][0]["transactions"] == answers[0][0]["unspent"] >= BLOCKS


@pytest.mark.parametrize(
    ("method", "params"),
    [("getmempoolinfo", []), ("sendrawtransaction", ["00"]), ("gettxout", ["0" * 64, 0]), ("getpeerinfo", [])],
)
def test_what_needs_the_node_says_so(pair: Pair, method: str, params: list[object]) -> None:
    with pytest.raises(RpcFailure, match="needs the node") as caught:
        pair.reader.rpc(method, *params)
    assert caught.value.code == -9


def test_new_blocks_are_seen_and_told(pair: Pair) -> None:
    headers = {"Authorization": pair.reader.authorization()}
    told: list[bytes] = []
    poll = threading.Thread(
        target=lambda: told.append(pair.reader.request("GET", "/v1/events?from=now&wait=30", None, headers)[1])
    )
    height = pair.reader.rpc("getblockcount")
    poll.start()
    tips = []
    while poll.is_alive():
        tips += pair.node.rpc("generatetodescriptor", 1, "raw(51)")
        poll.join(1)
    assert pair.reader.rpc("getblockcount") == height + len(tips)
    assert pair.reader.rpc("gettxoutsetinfo", "none")["bestblock"] == tips[-1]
    assert json.loads(told[0])["messages"][0]["type"] in ("block_connected", "tx_confirmed")


def test_beside_the_node_it_leaves_the_node_s_files_alone(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-apiworkers=1", "-eventsprocess=0") as node:
        cookie = node.cookie()
        with ApiReader(tmp_path, "-apiworkers=0") as reader:
            assert reader.rpc("getblockcount") == 0
            assert reader.cookie() != cookie
            assert reader.rpc("uptime") >= 0
        assert node.cookie() == cookie
        assert node.rpc("generatetodescriptor", 1, "raw(51)")
        assert "without a node" not in node.debug_log()


def test_it_goes_on_without_the_node_and_leaves_nothing(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-apiworkers=0", "-eventsprocess=0") as node:
        tip = node.rpc("generatetodescriptor", 3, "raw(51)")[-1]
    reader = ApiReader(tmp_path, "-apiworkers=1")
    with reader:
        assert reader.rpc("getbestblockhash") == tip
        assert reader.process is not None
        children = process_ids_below(reader.process.pid)
        assert len(children) >= 1
    assert reader.process.returncode == 0
    wait_for(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])
    assert not (tmp_path / "regtest" / ".api.cookie").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-database=sqlite:////nowhere", "No chain here: /nowhere/chain.sqlite does not exist"),
        ("-txindex=1", "has no txindex"),
    ],
)
def test_a_database_that_is_not_there_is_an_error(tmp_path: Path, option: str, message: str) -> None:
    with Node(tmp_path, "-par=1", "-apiworkers=0", "-eventsprocess=0"):
        pass
    done = run_program("api", f"-datadir={tmp_path}", "-regtest", f"-rpcport={free_port()}", option)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
