"""The plugin in a node."""

import json
import socket
from collections.abc import Callable, Iterator

import pytest

from clarion.plugins.testing import RegtestNode


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    """Return a UDP socket that hears."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(30)
        yield receiver


def test_every_block_is_a_packet(receiver: socket.socket, clarion_node: Callable[..., RegtestNode]) -> None:
    port = receiver.getsockname()[1]
    node = clarion_node("-plugin=udp", f"-notify=udp://127.0.0.1:{port}?name=udp&types=block_connected")
    blocks = node.mine(3)
    told = [json.loads(receiver.recv(65_536)) for _ in range(4)]  # the first block of a new chain is told, too
    assert [event["height"] for event in told] == [0, 1, 2, 3]
    assert [event["hash"] for event in told[1:]] == blocks


def test_long_message_becomes_a_dead_letter(receiver: socket.socket, clarion_node: Callable[..., RegtestNode]) -> None:
    port = receiver.getsockname()[1]
    node = clarion_node("-plugin=udp", f"-notify=udp://127.0.0.1:{port}?name=udp&types=block_connected&longest=9")
    node.mine()
    node.wait_until(lambda: node.rpc("listlanes")[0]["dead_letters"] == 2)
    assert node.rpc("listdeadletters", "udp")[0]["error"] == "too long for one packet"
