"""The first transport."""

import pytest

from clarion.node.errors import PeerError
from clarion.node.net.transport.transport import Received
from clarion.node.net.transport.v1 import V1Transport

MAGIC = bytes.fromhex("fabfb5da")


def test_a_message_on_the_wire() -> None:
    raw = V1Transport(MAGIC).encode("verack", b"")
    assert raw.hex() == "fabfb5da" + "76657261636b000000000000" + "00000000" + "5df6e0e2"


@pytest.mark.parametrize("step", [1, 7, 24, 1000])
def test_messages_in_pieces(step: int) -> None:
    sender, receiver = V1Transport(MAGIC), V1Transport(MAGIC)
    stream = sender.encode("ping", bytes(8)) + sender.encode("verack", b"") + sender.encode("block", bytes(300))
    got: list[Received] = []
    for at in range(0, len(stream), step):
        receiver.receive(stream[at : at + step])
        got += receiver.messages()
    assert [(each.command, len(each.payload), each.wire_size) for each in got] == [
        ("ping", 8, 32),
        ("verack", 0, 24),
        ("block", 300, 324),
    ]


def test_damaged_messages_are_dropped_alone() -> None:
    receiver = V1Transport(MAGIC)
    bad = bytearray(receiver.encode("ping", bytes(8)))
    bad[-1] ^= 1
    strange = V1Transport(MAGIC).encode("p\x01ng", b"")
    padded = bytearray(receiver.encode("ping", b""))
    padded[15] = 1
    receiver.receive(bytes(bad) + strange + bytes(padded) + receiver.encode("pong", bytes(8)))
    assert [each.command for each in receiver.messages()] == ["", "", "", "pong"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (bytes(24), "Header error: Wrong MessageStart 00000000 received, peer=3"),
        (
            MAGIC + b"ping" + bytes(8) + (4_000_001).to_bytes(4, "little") + bytes(4),
            "Size too large .ping, 4000001 bytes",
        ),
    ],
    ids=["network", "size"],
)
def test_what_ends_the_connection(raw: bytes, message: str) -> None:
    receiver = V1Transport(MAGIC, 3)
    receiver.receive(raw)
    with pytest.raises(PeerError, match=message):
        list(receiver.messages())
