"""loadtxoutset on a real node: the tip first, the history behind it, kills in between, and a wrong snapshot."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from clarion.node.params.chain_params import select_params
from clarion.node.primitives.ids import hash_from_hex, hash_to_hex
from clarion.node.storage.utxo_snapshot import write_snapshot
from clarion.node.storage.utxo_snapshot_reader import SnapshotCoins, read_head
from helpers.node import Node, RpcFailure
from helpers.random_kills import KINDS, Home, Moments, make_home
from helpers.snapshot_source import Source, facts, make_source

LOAD_S = 4.0
HISTORY_S = 6.0


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A chain and its snapshot."""
    return make_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(params=KINDS)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """A home for a node on SQLite and on PostgreSQL."""
    with make_home(request.param, tmp_path / "home") as found:
        yield found


def _wait(happened: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _states(node: Node) -> list[tuple[int, bool]]:
    return [(state["blocks"], state["validated"]) for state in node.rpc("getchainstates")["chainstates"]]


def _folders(home: Home) -> set[str]:
    return {path.name for path in (home.folder / "regtest").glob("chainstate*")}


def test_the_tip_comes_first(home: Home, source: Source) -> None:
    base = source.height
    node = source.node(home.folder, *home.options)
    with node:
        source.feed_headers(node)
        loaded = node.rpc("loadtxoutset", str(source.file))
        assert loaded == {
            "coins_loaded": source.coins,
            "tip_hash": source.block_hash,
            "base_height": base,
            "path": str(source.file),
        }
        assert "NETWORK" not in node.rpc("getnetworkinfo")["localservicesnames"]
        source.feed_blocks(node, base + 1, base + 6)
        assert facts(node) == source.tip
        assert _states(node) == [(0, True), (base + 5, False)]
        with pytest.raises(RpcFailure, match="not fully downloaded"):
            node.rpc("getblock", source.block_hash)
        source.feed_blocks(node, 1, 20)
        _wait(lambda: _states(node)[0] == (19, True))
        for height in (base, 5):
            with pytest.raises(RpcFailure, match="history is still being validated"):
                node.rpc("invalidateblock", node.rpc("getblockhash", height))
        node.stop()
        node.start()
        assert _states(node) == [(19, True), (base + 5, False)]
        source.feed_blocks(node, 20, base + 1)
        _wait(lambda: _states(node) == [(base + 5, True)])
        assert "NETWORK" in node.rpc("getnetworkinfo")["localservicesnames"]
        assert facts(node) == source.tip
        node.stop()
        node.start()
        assert _folders(home) == {"chainstate"}
        assert "snapshot_blockhash" not in node.rpc("getchainstates")["chainstates"][0]
        assert facts(node) == source.tip
        assert node.rpc("verifychain", 4, 0) is True
        node.rpc("invalidateblock", node.rpc("getblockhash", base - 2))
        assert node.rpc("getblockcount") == base - 3


def test_killed_in_a_load(home: Home, source: Source) -> None:
    moments = Moments("load")
    node = source.node(home.folder, *home.options)
    with node:
        source.feed_headers(node)
        for _ in range(moments.kills):
            loading = threading.Thread(target=_try_to_load, args=(node, source))
            loading.start()
            assert node.process is not None
            time.sleep(moments.rng.uniform(0, LOAD_S))
            node.kill()
            loading.join()
            node.start()
            states = _states(node)
            assert states in ([(0, True)], [(0, True), (source.height, False)])
            if len(states) == 1:
                assert "chainstate_snapshot" not in _folders(home)
        if len(_states(node)) == 1:
            node.rpc("loadtxoutset", str(source.file))
        source.feed_blocks(node, source.height + 1, source.height + 6)
        assert facts(node) == source.tip


def _try_to_load(node: Node, source: Source) -> None:
    with contextlib.suppress(RpcFailure, OSError, ValueError):
        node.rpc("loadtxoutset", str(source.file))


def test_killed_while_the_history_is_validated(home: Home, source: Source) -> None:
    moments = Moments("history")
    node = source.node(home.folder, *home.options)
    with node:
        source.feed_headers(node)
        node.rpc("loadtxoutset", str(source.file))
        for _ in range(moments.kills):
            feeding = threading.Thread(target=_try_to_feed, args=(node, source))
            feeding.start()
            time.sleep(moments.rng.uniform(0, HISTORY_S))
            node.kill()
            feeding.join()
            node.start()
            assert node.rpc("getblockcount") >= source.height
        source.feed_blocks(node, 1, source.height + 6)
        _wait(lambda: _states(node) == [(source.height + 5, True)])
        assert facts(node) == source.tip
        node.kill()
        node.start()
        assert _states(node) == [(source.height + 5, True)]
        assert facts(node) == source.tip


def _try_to_feed(node: Node, source: Source) -> None:
    with contextlib.suppress(RpcFailure, OSError, ValueError):
        source.feed_blocks(node, 1, source.height + 6)


def test_a_wrong_snapshot_ends_the_node(home: Home, source: Source, tmp_path: Path) -> None:
    """As if the parameters named the hash of coins that are not those of the block."""
    wrong = _wrong(source, tmp_path / "wrong.dat")
    node = wrong.node(home.folder, *home.options)
    node.start()
    wrong.feed_headers(node)
    with pytest.raises(RpcFailure, match=f"Bad snapshot content hash: expected {wrong.coins_hash}"):
        node.rpc("loadtxoutset", str(source.file))
    assert "chainstate_snapshot" not in _folders(home)
    node.rpc("loadtxoutset", str(wrong.file))
    wrong.feed_blocks(node, wrong.height + 1, wrong.height + 6)
    with contextlib.suppress(RpcFailure, OSError, ValueError):
        wrong.feed_blocks(node, 1, wrong.height + 1)
    assert node.wait() == 1
    assert "is wrong: its hash should be" in node.read_output()
    with node:
        _wait(lambda: facts(node) == source.tip)
        assert _states(node) == [(source.height + 5, True)]
        if home.url is None:
            assert _folders(home) == {"chainstate", "chainstate_snapshot_INVALID"}


def _wrong(source: Source, path: Path) -> Source:
    magic = select_params("regtest").magic
    with source.file.open("rb") as file:
        head = read_head(file, magic)
        rows = list(SnapshotCoins(file, head.coins, source.height).rows())
    key, value, code, script = rows[7]
    rows[7] = (key, value + 1, code, script)
    written = BytesIO()
    result = write_snapshot(written, magic, hash_from_hex(source.block_hash), rows)
    path.write_bytes(written.getvalue())
    return replace(source, file=path, coins_hash=hash_to_hex(result.hash_serialized))
