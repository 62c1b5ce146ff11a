"""Plugins in a real node, through what authors of plugins are given: every kind of hook, and faults that stay theirs."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clarion.plugins.testing import NodeRefused, RegtestNode
from clarion.plugins.testing import clarion_node as clarion_node

PLUGIN = """
import os
from pathlib import Path
from clarion.plugins import hookimpl
from clarion.plugins.http import Route
from clarion.plugins.rpc import ArgKind, RpcArg, RpcMethod

clarion_hook_api = "1.0"
seen = Path({folder!r})

class Sizes:
    name, store_name, needs_spent = "block sizes", "blocksizes", False
    def connect(self, block, batch):
        batch.put(block.height.to_bytes(4, "big"), len(block.block.raw).to_bytes(4, "big"))
    def disconnect(self, block, batch):
        batch.delete(block.height.to_bytes(4, "big"))

def size(context, height):
    context.wait_for_index("block sizes", "blocksizes")
    with context.index("blocksizes").snapshot() as view:
        return int.from_bytes(view.get(height.to_bytes(4, "big")) or b"", "big")

@hookimpl
def register_indexes(config): return [Sizes()]

@hookimpl
def register_rpc_methods(config):
    return [RpcMethod("getblocksize", size, "Sizes.", (RpcArg("height", ArgKind.NUMBER, "The height", required=True),))]

@hookimpl
def register_routes(config):
    return [Route("/v1/sizes", lambda request: {{"size": size(request.context, int(request.rest))}})]

@hookimpl
def accept_transaction(view): return "no transactions today"

@hookimpl
def block_connected(event):
    with (seen / "blocks.txt").open("a") as file:
        print(event.height, file=file)

class Crashing:
    @hookimpl
    def block_connected(self, event):
        if event.height == 2 and not (seen / "crashed").exists():
            (seen / "crashed").touch()
            os._exit(9)

class Raising:
    @hookimpl
    def block_connected(self, event): raise KeyError(event.height)

class Leaking:
    kept = []
    @hookimpl
    def block_connected(self, event):
        if event.height <= 12:
            self.kept.append(b"x" * 50_000_000)

class Slow:
    @hookimpl
    def block_connected(self, event):
        with (seen / "slow.txt").open("a") as file:
            print(event.height, file=file)
        import time
        time.sleep(0.2)

class Hanging:
    @hookimpl
    def block_connected(self, event):
        import time
        time.sleep(3600)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the plugin and make it importable; return where it leaves its traces."""
    (tmp_path / "every_kind.py").write_text(PLUGIN.format(folder=str(tmp_path)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return tmp_path


def _heights(folder: Path) -> list[str]:
    path = folder / "blocks.txt"
    return path.read_text().split() if path.exists() else []


def test_every_kind_of_hook(plugin: Path, clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=every_kind", "-acceptnonstdtxn=1")
    (block,) = node.mine()
    size = node.rpc("getblock", block)["size"]
    assert node.rpc("getblocksize", 1) == size
    assert json.loads(node.http("GET", "/v1/sizes/1")[1]) == {"size": size}
    assert node.rpc("getindexinfo")["block sizes"] == {"synced": True, "best_block_height": 1}
    node.wait_until(lambda: "1" in _heights(plugin))
    node.mine(100)
    coin = node.rpc("getblock", block)["tx"][0]
    raw = node.rpc("createrawtransaction", [{"txid": coin, "vout": 0}], [{"data": "00" * 20}])
    (verdict,) = node.rpc("testmempoolaccept", [raw], 0)
    assert (verdict["allowed"], verdict["reject-reason"]) == (False, "operator-policy")
    assert verdict["reject-details"] == "operator-policy, every_kind: no transactions today"


def test_crashing_raising_and_hanging_plugins_stop_nobody_else(
    plugin: Path, clarion_node: Callable[..., RegtestNode]
) -> None:
    others = [f"-plugin=every_kind:{name}" for name in ("Crashing", "Raising", "Hanging")]
    node = clarion_node("-plugin=every_kind", *others)
    node.rpc("generatetodescriptor", 4, "raw(51)")
    node.wait_until(lambda: {"1", "2", "3", "4"} <= set(_heights(plugin)), 60)
    assert node.rpc("getblockcount") == 4
    assert (plugin / "crashed").exists()
    assert "events process: ended with status 9" in node.log()
    assert "plugin every_kind:Raising: block_connected raised" in node.log()


def test_observer_goes_on_where_it_was_when_the_node_was_killed(
    plugin: Path, clarion_node: Callable[..., RegtestNode]
) -> None:
    node = clarion_node("-plugin=every_kind:Slow")
    told = plugin / "slow.txt"
    node.rpc("generatetodescriptor", 10, "raw(51)")
    node.wait_until(lambda: told.exists() and "3" in told.read_text().split())
    node.process.kill()
    node.process.wait()
    before = list(map(int, told.read_text().split()))
    assert before == list(range(before[-1] + 1)), "it was told in order"
    assert before[-1] < 10, "it was not slow"
    again = RegtestNode(node.folder, "-plugin=every_kind:Slow")
    try:
        again.wait_until(lambda: "10" in told.read_text().split())
        behind = list(map(int, told.read_text().split()))[len(before) :]
        assert behind == list(range(behind[0], 11))
        assert behind[0] <= before[-1] + 1, "a block was left out"
    finally:
        again.stop()


def test_plugin_that_leaks_is_paused_by_name_and_the_others_go_on(
    plugin: Path, clarion_node: Callable[..., RegtestNode]
) -> None:
    node = clarion_node("-plugin=every_kind", "-plugin=every_kind:Leaking", "-eventsmemory=600")
    name = "plugin every_kind:Leaking"

    def lane() -> dict[str, object]:
        with suppress(NodeRefused):  # the events process is starting
            return next(each for each in node.rpc("listlanes") if each["name"] == name)
        return {"state": ""}

    node.rpc("generatetodescriptor", 20, "raw(51)")
    node.wait_until(lambda: f"{name}: paused: it" in node.log(), 60)
    node.wait_until(lambda: {str(height) for height in range(21)} <= set(_heights(plugin)), 60)
    node.wait_until(lambda: lane()["state"] == "paused")
    assert "MiB of the events process (-eventsmemory=600)" in str(lane()["last_error"])
    node.rpc("resumelane", name)
    node.wait_until(lambda: lane().get("lag_events") == 0)
    assert lane()["state"] == "running"


OWN_THREAD = """
import threading, time
from clarion.plugins import hookimpl

kept = []

def take():
    while len(kept) < 900:
        kept.append(b"x" * 1_000_000)
        time.sleep(0.005)

@hookimpl
def block_connected(event):
    if event.height == 1:
        threading.Thread(target=take, daemon=True).start()
"""


def test_plugin_that_leaks_on_a_thread_of_its_own_is_paused_and_the_others_go_on(
    plugin: Path, clarion_node: Callable[..., RegtestNode]
) -> None:
    (plugin / "own_thread.py").write_text(OWN_THREAD)
    node = clarion_node("-plugin=every_kind", "-plugin=own_thread", "-eventsmemory=300")
    node.rpc("generatetodescriptor", 2, "raw(51)")
    node.wait_until(lambda: "plugin own_thread: paused: its code took" in node.log(), 60)
    node.rpc("generatetodescriptor", 3, "raw(51)")
    node.wait_until(lambda: {str(height) for height in range(6)} <= set(_heights(plugin)), 60)
    assert "every_kind: paused" not in node.log()


def test_what_a_node_refuses_is_an_error_here(clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node()
    with pytest.raises(NodeRefused, match="Method not found") as refused:
        node.rpc("nosuch")
    assert refused.value.code == -32601
    assert node.stop() == 0
    with pytest.raises(AssertionError, match="can't be loaded"):
        clarion_node("-plugin=no_such_plugin")
