"""The encrypted transport, both ends against each other."""

import pytest

from clarion.node.errors import PeerError
from clarion.node.net.transport.ciphers import REKEY_INTERVAL
from clarion.node.net.transport.transport import Received, Transport
from clarion.node.net.transport.v1 import V1Transport
from clarion.node.net.transport.v2 import MAX_GARBAGE_SIZE, V2Transport

MAGIC = bytes.fromhex("fabfb5da")


def hand_over(sender: Transport, receiver: Transport, data: bytes = b"", step: int = 10_000) -> list[Received]:
    """Deliver what the sender has waiting, then `data`, in pieces of `step` bytes."""
    stream = sender.pending() + data
    got: list[Received] = []
    for at in range(0, len(stream), step):
        receiver.receive(stream[at : at + step])
        got += receiver.messages()
    return got


def connected(step: int = 10_000, garbage: bytes | None = None) -> tuple[V2Transport, V2Transport]:
    ends = V2Transport(MAGIC, initiating=True, garbage=garbage), V2Transport(MAGIC, initiating=False, garbage=garbage)
    for _ in range(2):
        hand_over(ends[0], ends[1], step=step)
        hand_over(ends[1], ends[0], step=step)
    return ends


@pytest.mark.parametrize("step", [1, 17, 10_000])
@pytest.mark.parametrize("garbage", [b"", bytes(MAX_GARBAGE_SIZE)], ids=["none", "most"])
def test_handshake(step: int, garbage: bytes) -> None:
    initiator, responder = connected(step, garbage)
    assert (initiator.transport_type, responder.transport_type) == ("v2", "v2")
    assert len(initiator.session_id) == 64
    assert initiator.session_id == responder.session_id


def test_messages_both_ways_over_new_keys() -> None:
    initiator, responder = connected()
    for number in range(2 * REKEY_INTERVAL + 5):
        payload = number.to_bytes(2, "little")
        (there,) = hand_over(initiator, responder, initiator.encode("ping", payload))
        (back,) = hand_over(responder, initiator, responder.encode("wtxidrelay", payload))
        assert (there.command, there.payload, there.wire_size) == ("ping", payload, 2 + 1 + 20)
        assert (back.command, back.payload, back.wire_size) == ("wtxidrelay", payload, 2 + 13 + 20)


def test_messages_wait_for_the_keys() -> None:
    initiator, responder = V2Transport(MAGIC, initiating=True), V2Transport(MAGIC, initiating=False)
    assert initiator.encode("version", b"v") == b""
    assert responder.transport_type == "detecting"
    assert hand_over(initiator, responder) == []
    hand_over(responder, initiator)
    (message,) = hand_over(initiator, responder)
    assert (message.command, message.payload) == ("version", b"v")


def test_decoys_are_dropped() -> None:
    initiator, responder = connected()
    assert initiator._ciphers is not None
    decoy = initiator._ciphers.encrypt(b"\x12" + bytes(8), ignore=True)
    (message,) = hand_over(initiator, responder, decoy + initiator.encode("verack", b""))
    assert message.command == "verack"


@pytest.mark.parametrize("step", [1, 1000])
def test_accepting_side_speaks_v1_when_that_comes(step: int) -> None:
    old, responder = V1Transport(MAGIC), V2Transport(MAGIC, initiating=False)
    assert responder.encode("version", b"mine") == b""
    (message,) = hand_over(old, responder, old.encode("version", b"v"), step)
    assert (message.command, message.payload, responder.transport_type) == ("version", b"v", "v1")
    (answer,) = hand_over(responder, old)
    assert (answer.command, answer.payload) == ("version", b"mine")


def test_accepting_side_is_silent_until_it_knows() -> None:
    responder = V2Transport(MAGIC, initiating=False)
    responder.receive(MAGIC + b"versio")
    assert responder.pending() == b""
    responder.receive(b"x")
    assert len(responder.pending()) >= 64


def test_when_to_try_the_first_transport() -> None:
    initiator = V2Transport(MAGIC, initiating=True)
    assert not initiator.should_reconnect_v1
    initiator.pending()
    assert initiator.should_reconnect_v1
    initiator.receive(b"a")
    assert not initiator.should_reconnect_v1


def test_another_networks_old_node() -> None:
    responder = V2Transport(MAGIC, initiating=False, peer_id=7)
    with pytest.raises(PeerError, match="V1 peer with wrong MessageStart f9beb4d9, peer=7"):
        responder.receive(V1Transport(bytes.fromhex("f9beb4d9")).encode("version", bytes(50)))


def test_endless_garbage() -> None:
    initiator, responder = V2Transport(MAGIC, initiating=True), V2Transport(MAGIC, initiating=False)
    responder.receive(initiator.pending()[:64])
    with pytest.raises(PeerError, match="missing garbage terminator"):
        responder.receive(bytes(MAX_GARBAGE_SIZE + 16))


def test_forged_and_oversized_packets() -> None:
    initiator, responder = connected()
    packet = bytearray(initiator.encode("ping", bytes(8)))
    packet[-1] ^= 1
    with pytest.raises(PeerError, match="packet decryption failure"):
        hand_over(initiator, responder, bytes(packet))
    initiator, responder = connected()
    assert initiator._ciphers is not None
    with pytest.raises(PeerError, match="packet too large"):
        hand_over(initiator, responder, initiator._ciphers.encrypt(bytes(4_000_014)))


@pytest.mark.parametrize("contents", [b"", b"\x1d", b"\0short", b"\0ping\0x" + bytes(6)], ids=repr)
def test_names_that_are_none_are_dropped_alone(contents: bytes) -> None:
    initiator, responder = connected()
    assert initiator._ciphers is not None
    got = hand_over(initiator, responder, initiator._ciphers.encrypt(contents) + initiator.encode("pong", b""))
    assert [each.command for each in got] == ["", "pong"]
