"""Bans and permissions between real nodes."""

from pathlib import Path

import pytest

from helpers.node import Node, RpcFailure, free_port
from helpers.waiting import wait_for


@pytest.fixture
def port() -> int:
    return free_port()


def test_bans_over_a_restart(tmp_path: Path, port: int) -> None:
    node = Node(tmp_path / "a", "-listen=1", f"-bind=127.0.0.1:{port}")
    with node, Node(tmp_path / "b") as other:
        other.rpc("addnode", f"127.0.0.1:{port}", "onetry")
        wait_for(lambda: node.rpc("getconnectioncount") == 1)
        node.rpc("setban", "127.0.0.1", "add", 1000)
        wait_for(lambda: node.rpc("getconnectioncount") == 0)
        with pytest.raises(RpcFailure, match="already banned"):
            node.rpc("setban", "127.0.0.1", "add")
        with pytest.raises(RpcFailure, match="Invalid IP/Subnet"):
            node.rpc("setban", "127.0.0.1/99", "add")
        node.stop()
        node.start()
        (ban,) = node.rpc("listbanned")
        assert (ban["address"], ban["ban_duration"]) == ("127.0.0.1/32", 1000)
        node.rpc("setban", "127.0.0.1", "remove")
        node.rpc("setban", "10.0.0.0/8", "add")
        node.rpc("clearbanned")
        assert node.rpc("listbanned") == []


def test_permission_not_to_be_banned(tmp_path: Path, port: int) -> None:
    options = ("-listen=1", f"-whitebind=noban@127.0.0.1:{port}", f"-bind=127.0.0.1:{free_port()}")
    with Node(tmp_path / "a", *options) as node, Node(tmp_path / "b") as other:
        node.rpc("setban", "127.0.0.0/8", "add")
        other.rpc("addnode", f"127.0.0.1:{port}", "onetry")
        wait_for(lambda: [each["permissions"] for each in node.rpc("getpeerinfo")] == [["noban", "download"]])


def test_the_network_off_and_on(tmp_path: Path, port: int) -> None:
    options = ("-listen=1", f"-bind=127.0.0.1:{port}", "-maxuploadtarget=1g")
    with Node(tmp_path / "a", *options) as node, Node(tmp_path / "b", f"-addnode=127.0.0.1:{port}") as other:
        wait_for(lambda: node.rpc("getconnectioncount") == 1)
        (added,) = other.rpc("getaddednodeinfo")
        where = [{"address": f"127.0.0.1:{port}", "connected": "outbound"}]
        assert added == {"addednode": f"127.0.0.1:{port}", "connected": True, "addresses": where}
        totals = node.rpc("getnettotals")
        assert totals["uploadtarget"]["target"] == 1_000_000_000
        assert totals["totalbytesrecv"] >= node.rpc("getpeerinfo")[0]["bytesrecv"] > 0
        assert node.rpc("setnetworkactive", False) is False
        wait_for(lambda: other.rpc("getconnectioncount") == 0)
        assert other.rpc("getaddednodeinfo")[0]["connected"] is False
        assert node.rpc("getnetworkinfo")["networkactive"] is False
        node.rpc("setnetworkactive", True)
        other.rpc("addnode", f"127.0.0.1:{port}", "onetry")
        wait_for(lambda: node.rpc("getconnectioncount") == 1)
