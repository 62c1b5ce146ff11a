"""Messages in files."""

import logging
from pathlib import Path

import pytest

from clarion.node.net.message_capture import MessageCapture
from clarion.node.net.messages.handshake import Ping
from clarion.node.net.peer_manager import PeerManager
from helpers.wire_peer import WirePeer, endpoint_of


def test_what_is_said_both_ways(tmp_path: Path, peers: PeerManager) -> None:
    wire = WirePeer(peers)
    wire.peer.capture = MessageCapture(tmp_path, lambda: 5_000_000).of_peer(wire.peer.endpoint)
    wire.shake_hands()
    (tmp_path / "message_capture" / "127.0.0.1_50000" / "msgs_sent.dat").unlink()
    wire.say(Ping(7))
    folder = tmp_path / "message_capture" / "127.0.0.1_50000"
    ping = bytes.fromhex("404b4c0000000000") + b"ping".ljust(12, b"\0") + bytes.fromhex("080000000700000000000000")
    assert (folder / "msgs_recv.dat").read_bytes().endswith(ping)
    assert (folder / "msgs_sent.dat").read_bytes() == ping.replace(b"ping", b"pong")


def test_a_full_disk_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "message_capture").write_text("in the way")
    with caplog.at_level(logging.ERROR, "clarion.net"):
        MessageCapture(tmp_path, lambda: 0).of_peer(endpoint_of("127.0.0.1:1"))("ping", b"", True)
    assert "A message of 127.0.0.1:1 could not be captured" in caplog.text
