"""-prune on a real node: by hand, its answers, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.event_source import wait_until
from helpers.node import Node, RpcFailure, run_program

DESCRIPTOR = "raw(51)#8lvh9jxk"
HEIGHT = 1200


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with several small block files."""
    folder = tmp_path_factory.mktemp("data")
    lane = f"-notify=file:{folder}/events.jsonl?name=file&types=block_connected"
    with Node(folder, "-prune=1", "-fastprune", "-par=1", lane) as node:
        with pytest.raises(RpcFailure, match="Blockchain is too short for pruning"):
            node.rpc("pruneblockchain", 50)
        node.rpc("generatetodescriptor", HEIGHT, DESCRIPTOR)
        yield node


def block_file(node: Node, number: int) -> Path:
    return node.chain_dir / "blocks" / f"blk{number:05d}.dat"


@pytest.mark.slow
def test_before_pruning(node: Node) -> None:
    info = node.rpc("getblockchaininfo")
    assert (info["pruned"], info["pruneheight"], info["automatic_pruning"]) == (True, 0, False)
    assert "prune_target_size" not in info
    assert block_file(node, 2).exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("height", "code", "message"),
    [
        (-1, -8, "Negative block height."),
        (HEIGHT + 1, -8, "Blockchain is shorter than the attempted prune height."),
        (4_000_000_000 % 2**31, -8, "Could not find block with at least the specified timestamp."),
    ],
)
def test_wrong_heights(node: Node, height: int, code: int, message: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        node.rpc("pruneblockchain", height)
    assert (failure.value.code, failure.value.message) == (code, message)


@pytest.mark.slow
def test_pruning_waits_for_a_lane_that_is_behind(node: Node) -> None:
    node.rpc("pauselane", "file")
    node.rpc("resetlane", "file", "height:100")
    assert node.rpc("pruneblockchain", HEIGHT) < 100
    assert block_file(node, 0).exists()
    node.rpc("resumelane", "file")
    wait_until(lambda: node.rpc("listlanes")[0]["lag_events"] == 0, timeout_s=60)


@pytest.mark.slow
def test_pruning_by_hand_keeps_288_blocks(node: Node) -> None:
    size = node.rpc("getblockchaininfo")["size_on_disk"]
    pruned = node.rpc("pruneblockchain", HEIGHT)
    assert 0 < pruned <= HEIGHT - 288
    assert not block_file(node, 0).exists()
    info = node.rpc("getblockchaininfo")
    assert info["pruneheight"] == pruned + 1
    assert info["size_on_disk"] < size
    gone, kept = node.rpc("getblockhash", pruned), node.rpc("getblockhash", pruned + 1)
    with pytest.raises(RpcFailure, match=r"-1: Block not available \(pruned data\)"):
        node.rpc("getblock", gone)
    assert node.rest(f"block/{gone}.bin") == (404, f"{gone} not available (pruned data)\r\n".encode())
    assert node.rpc("getblock", kept)["height"] == pruned + 1
    assert node.rpc("getblockheader", gone)["height"] == pruned


@pytest.mark.slow
def test_after_a_kill(node: Node) -> None:
    before = node.rpc("getblockchaininfo")
    node.kill()
    node.start()
    assert node.rpc("getblockchaininfo")["pruneheight"] == before["pruneheight"]
    assert node.rpc("verifychain", 4, 100) is True
    assert node.rpc("verifychain", 0, 0) is False
    node.rpc("generatetodescriptor", 1, DESCRIPTOR)
    assert node.rpc("getblockcount") == before["blocks"] + 1


@pytest.mark.slow
def test_not_back_to_all_blocks_without_reindex(node: Node) -> None:
    node.stop()
    started = run_program(f"-datadir={node.datadir}", "-regtest", "-fastprune", f"-rpcport={node.rpc_port}")
    assert started.returncode == 1
    assert "You need to rebuild the database using -reindex to go back to unpruned mode." in started.stderr
    node.start()


def test_without_prune_mode(tmp_path: Path) -> None:
    with Node(tmp_path) as node, pytest.raises(RpcFailure) as failure:
        node.rpc("pruneblockchain", 10)
    assert (failure.value.code, failure.value.message) == (
        -1,
        "Cannot prune blocks because node is not in prune mode.",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-prune=-1"], "Prune cannot be configured with a negative value."),
        (["-prune=549"], "Prune configured below the minimum of 550 MiB."),
        (["-prune=550", "-txindex"], "Prune mode is incompatible with -txindex."),
        (
            ["-prune=550", "-reindex-chainstate"],
            "Prune mode is incompatible with -reindex-chainstate. Use full -reindex instead.",
        ),
    ],
    ids=["negative", "small", "txindex", "reindex-chainstate"],
)
def test_refused_options(tmp_path: Path, options: list[str], message: str) -> None:
    started = run_program(f"-datadir={tmp_path}", "-regtest", *options)
    assert started.returncode == 1
    assert message in started.stderr
