"""What is fuzzed: each takes any bytes and raises only where something is wrong.

Owns: message decoders, both transports, and the peers' whole state machine as functions of bytes. Never: choosing bytes.
"""

import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path

from clarion.node.errors import DecodeError, PeerError
from clarion.node.net.messages.registry import MESSAGES
from clarion.node.net.transport.transport import Transport
from clarion.node.net.transport.v1 import V1Transport
from clarion.node.net.transport.v2 import V2Transport
from helpers.peer_world import PeerWorld
from helpers.wire_peer import MAGIC

COMMANDS = sorted(MESSAGES)
SCRIPTS_A_WORLD = 25

Target = Callable[[bytes], None]


def decode_message(data: bytes) -> None:
    """The first byte chooses a message. What decodes must be the same after encoding."""
    if not data:
        return
    kind = MESSAGES[COMMANDS[data[0] % len(COMMANDS)]]
    with contextlib.suppress(DecodeError):
        encoded = kind.parse(data[1:]).serialize()
        assert kind.parse(encoded).serialize() == encoded, f"{kind.command} changes when it is encoded again"


def receive_stream(data: bytes) -> None:
    """The first byte chooses a transport and how the stream is cut. Cutting must not change what comes out."""
    if not data:
        return
    chosen, stream = data[0], data[1:]
    first, second = _transport(chosen, stream), _transport(chosen, stream)
    whole, ended = _received(*first, size=len(stream) + 5_000)
    cut, ended_too = _received(*second, size=1 + chosen // 4)
    assert (whole, ended) == (cut, ended_too), "a stream reads differently in pieces"


def _transport(chosen: int, stream: bytes) -> tuple[Transport, bytes]:
    """Return a transport, and the stream as it comes to it. Nothing is left to chance."""
    if chosen % 4 == 0:
        return V1Transport(MAGIC), stream
    near, far = (
        V2Transport(MAGIC, initiating=first, garbage=b"", key=bytes(31) + bytes((number,)), entropy=bytes(32))
        for first, number in ((chosen % 4 == 1, 1), (True, 2))
    )
    if chosen % 4 == 2:
        # Behind a handshake comes a message with any name, and then nonsense.
        near.receive(far.pending())
        far.receive(near.pending())
        near.receive(far.pending())
        name = bytes(byte & 0x7F for byte in stream[:12]).decode()
        stream = far.encode(name, stream[12:200]) + stream
    return near, stream


def _received(transport: Transport, stream: bytes, *, size: int) -> tuple[list[tuple[str, bytes]], bool]:
    """Return the messages that come out of a stream in pieces of `size`, and whether the connection was given up."""
    found: list[tuple[str, bytes]] = []
    try:
        for at in range(0, len(stream), size):
            transport.receive(stream[at : at + size])
            for each in transport.messages():
                # Those before an error were handled.
                found.append((each.command, each.payload))
    except PeerError:
        return found, True
    return found, False


class Peers:
    """Plays scripts, in a new world now and then, so that what a script left behind is there for some others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._template = folder / "template"
        PeerWorld(self._template).close()
        self._world: PeerWorld | None = None
        self._played = 0

    def __call__(self, data: bytes) -> None:
        if self._world is None:
            self._world = PeerWorld(self._folder / str(next(self._numbers)), self._template)
            self._played = 0
        self._world.play(data)
        self._played += 1
        if self._played >= SCRIPTS_A_WORLD and not self._world.is_as_new:
            self._world.close()
            self._world = None


def targets(folder: Path) -> dict[str, Callable[[], Target]]:
    """Return what makes each target; worlds lie in `folder`."""
    return {"messages": lambda: decode_message, "transports": lambda: receive_stream, "peers": lambda: Peers(folder)}
