"""Delivery on real processes: crashes, refusals, and nothing left behind."""

import os
import signal
import socket
from pathlib import Path

import pytest

from helpers.event_source import Subscriber, wait_until
from helpers.node import TOPICS, Node, events_process_of, process_ids_below

MINE = "raw(51)"


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_killed_events_process_comes_back_and_tells_what_was_missed(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", topics=("sequence",)) as node:
        node.rpc("generatetodescriptor", 1, MINE)
        pid = events_process_of(node)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        (block_hash,) = node.rpc("generatetodescriptor", 1, MINE)
        node.rpc("syncwithvalidationinterfacequeue")
        wait_until(lambda: events_process_of(node) not in (None, pid), 20)
        with Subscriber(node.zmq_address) as subscriber:
            node.rpc("generatetodescriptor", 1, MINE)
            ((_, body, counter),) = subscriber.receive(1)
        assert body == bytes.fromhex(node.rpc("getbestblockhash")) + b"C"
        # The new process has told at least the block that was mined while there was none.
        assert counter >= 1
        assert block_hash in node.debug_log()


def test_sync_waits_for_everything_before(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", topics=TOPICS) as node, Subscriber(node.zmq_address) as subscriber:
        hashes = node.rpc("generatetodescriptor", 20, MINE)
        node.rpc("syncwithvalidationinterfacequeue")
        told = [body for topic, body, _ in subscriber.receive(100, 2) if topic == "hashblock"]
        assert [body.hex() for body in told] == hashes


@pytest.mark.parametrize("eventsprocess", ["1", "0"])
def test_address_in_use_ends_the_start_with_one_line(tmp_path: Path, eventsprocess: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        node = Node(tmp_path, "-par=1", f"-zmqpubrawtx={address}", f"-eventsprocess={eventsprocess}")
        node.spawn("-printtoconsole=0")
        assert node.wait(30) == 1
    assert node.read_output() == f"Error: -zmqpubrawtx={address}: can't bind: Address already in use\n"


def test_word_that_is_no_address_does_not_stop_the_node(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", "-zmqpubrawtx=foo", "-zmqpubhashtx=bar", "-printtoconsole=0") as node:
        assert node.rpc("getzmqnotifications") == []
        assert node.read_output() == ""


def test_without_listeners_there_is_no_events_process(tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1") as node:
        assert node.process is not None
        lines = [_command_line(pid) for pid in process_ids_below(node.process.pid)]
        assert not any("clarion-events" in line or "run_child" in line for line in lines)
        node.rpc("generatetodescriptor", 1, MINE)
        node.rpc("syncwithvalidationinterfacequeue")


def test_killed_node_leaves_nothing_and_the_next_one_gets_the_port(tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", topics=("sequence",))
    node.start()
    assert node.process is not None
    children = process_ids_below(node.process.pid)
    assert children
    node.kill()
    node.start()
    wait_until(lambda: not any(_command_line(pid) for pid in children))
    # A worker of the killed node may have answered in its last moment.
    node.wait_ready()
    assert node.stop() == 0
