"""How the node ends, and what it says where it can't start: one clear line, status 1."""

import contextlib
import os
import signal
import time
from http.client import HTTPException
from pathlib import Path

import pytest

from helpers.node import Node, process_ids_below, run_program

START = ("-regtest", "-server=0", "-listen=0", "-connect=0", "-par=1")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_signal_ends_the_node_cleanly(tmp_path: Path, signum: signal.Signals) -> None:
    node = Node(tmp_path)
    node.start()
    assert node.terminate(signum) == 0
    assert not (node.chain_dir / ".cookie").exists()


def test_ctrl_c_while_children_start_is_silent(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=2")
    process = node.spawn()
    log = node.chain_dir / "debug.log"
    deadline = time.monotonic() + 20
    while not log.exists() or "Command-line arg" not in log.read_text():
        assert time.monotonic() < deadline, "the node does not start"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert node.wait() == 0
    assert "Traceback" not in node.read_output()


def test_stop_keeps_the_chain(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1")
    node.start()
    hashes = node.rpc("generatetodescriptor", 5, "raw(51)")
    assert node.stop() == 0
    node.start()
    assert node.rpc("getbestblockhash") == hashes[-1]
    assert node.stop() == 0


def test_what_is_written_is_for_the_owner_alone(tmp_path: Path) -> None:
    with Node(tmp_path / "data") as node:
        folders = [node.chain_dir, node.chain_dir / "wallets", node.chain_dir / "blocks"]
        files = [node.chain_dir / "debug.log", node.chain_dir / ".cookie", *folders[2].glob("blk*.dat")]
        assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
        assert len(files) == 3
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_the_height_to_stop_at(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", "-stopatheight=3")
    node.start()
    node.rpc("generatetodescriptor", 2, "raw(51)")
    with contextlib.suppress(HTTPException, OSError):
        node.rpc("generatetodescriptor", 1, "raw(51)")
    assert node.wait() == 0
    node = Node(tmp_path, "-par=1")
    node.start()
    assert node.rpc("getblockcount") == 3
    assert node.stop() == 0


def test_killed_node_leaves_no_process(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=2")
    node.start()
    assert node.process is not None
    children = process_ids_below(node.process.pid)
    assert children
    node.kill()
    deadline = time.monotonic() + 20
    while any(Path("/proc", str(pid)).exists() for pid in children):
        assert time.monotonic() < deadline, "a child outlived the node"
        time.sleep(0.05)


def test_killed_node_starts_again_at_once(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", topics=("hashblock",))
    node.start()
    tip = node.rpc("generatetodescriptor", 3, "raw(51)")[-1]
    node.kill()
    with node:
        assert node.rpc("getbestblockhash") == tip


def test_second_node_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1"):
        done = run_program(*START, f"-datadir={tmp_path}")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "probably already running" in done.stderr


def test_port_in_use_is_one_line(tmp_path: Path) -> None:
    with Node(tmp_path / "first", "-par=1") as node:
        (tmp_path / "second").mkdir()
        done = run_program(f"-datadir={tmp_path / 'second'}", "-regtest", "-par=1", f"-rpcport={node.rpc_port}")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("-databse=x", "-database"),
        ("-database=oracle://host/name", "database"),
        ("-zmqpubrawblock=tcp://nowhere", "zmqpubrawblock"),
        ("-par=many", "par"),
        ("-rpcport=99999", "99999"),
        ("-chain=moonnet", "moonnet"),
    ],
)
def test_wrong_option_is_one_line(tmp_path: Path, option: str, said: str) -> None:
    chain = () if option.startswith("-chain") else ("-regtest",)
    done = run_program(f"-datadir={tmp_path}", *chain, "-par=1", option)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
