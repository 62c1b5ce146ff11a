"""Nodes that connect to each other over real sockets."""

import socket
from pathlib import Path

import pytest

from clarion.node.net.messages.handshake import Ping, Pong, Version
from clarion.node.net.messages.message import Verack
from clarion.node.net.transport.v1 import V1Transport
from helpers.node import Node, RpcFailure, free_port
from helpers.waiting import wait_for

MAGIC = bytes.fromhex("fabfb5da")


def listening(folder: Path, *options: str) -> tuple[Node, int]:
    port = free_port()
    return Node(folder, "-listen=1", f"-bind=127.0.0.1:{port}", *options), port


@pytest.mark.parametrize(("v2", "transport"), [(True, "v2"), (False, "v1")])
def test_two_nodes(tmp_path: Path, v2: bool, transport: str) -> None:
    first, port = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b")
    with first, second:
        second.rpc("addnode", f"127.0.0.1:{port}", "onetry", v2)
        wait_for(lambda: [each["version"] for each in first.rpc("getpeerinfo")] == [70016])
        (out,), (back,) = second.rpc("getpeerinfo"), first.rpc("getpeerinfo")
        assert (out["inbound"], out["connection_type"], out["transport_protocol_type"]) == (False, "manual", transport)
        assert (back["inbound"], back["transport_protocol_type"]) == (True, transport)
        assert out["session_id"] == back["session_id"]
        assert (first.rpc("getconnectioncount"), second.rpc("getnetworkinfo")["connections_out"]) == (1, 1)
        second.rpc("disconnectnode", f"127.0.0.1:{port}")
        wait_for(lambda: first.rpc("getconnectioncount") == 0)


def test_added_nodes_are_kept(tmp_path: Path) -> None:
    first, port = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b", f"-connect=127.0.0.1:{port}")
    with first, second:
        wait_for(lambda: first.rpc("getconnectioncount") == 1)
        first.rpc("disconnectnode", "", first.rpc("getpeerinfo")[0]["id"])
        wait_for(lambda: [each["id"] for each in first.rpc("getpeerinfo")] == [1])
        first.rpc("addconnection", f"127.0.0.1:{port}", "block-relay-only", True)
        with pytest.raises(RpcFailure, match="Node not found"):
            first.rpc("disconnectnode", "1.2.3.4")
        with pytest.raises(RpcFailure, match="not been added"):
            first.rpc("addnode", "1.2.3.4", "remove")


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path) -> None:
    node, port = listening(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(AssertionError, match=f"Unable to bind to 127.0.0.1:{port} on this computer"):
            node.start()


def test_a_peer_by_hand(tmp_path: Path) -> None:
    node, port = listening(tmp_path, "-v2transport=1")
    with node, socket.create_connection(("127.0.0.1", port)) as sock:
        transport = V1Transport(MAGIC)
        for message in (Version(70016, 9, 0, nonce=3), Verack(), Ping(77)):
            sock.sendall(transport.encode(message.command, message.serialize()))
        got = []
        while "pong" not in [each.command for each in got]:
            transport.receive(sock.recv(65536))
            got += transport.messages()
        assert Pong.parse(got[-1].payload) == Pong(77)
        assert node.rpc("getpeerinfo")[0]["bytesrecv_per_msg"]["ping"] == 32
        sock.sendall(bytes(24))
        wait_for(lambda: node.rpc("getconnectioncount") == 0)
