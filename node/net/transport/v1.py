"""The first transport: every message in the clear behind a header of 24 bytes.

Owns: framing and checksums. Never: connections.
Source: Bitcoin Core's src/net.cpp (V1Transport), src/protocol.h (CMessageHeader).
"""

import logging
import struct
from collections.abc import Iterator

from clarion.node.errors import PeerError
from clarion.node.net.protocol import MAX_PROTOCOL_MESSAGE_LENGTH
from clarion.node.net.text import sanitize
from clarion.node.net.transport.transport import Received
from clarion.node.primitives.hashes import sha256d

HEADER_SIZE = 24
COMMAND_SIZE = 12
_HEADER = struct.Struct("<4s12sI4s")

logger = logging.getLogger("clarion.net")


class V1Transport:
    """Frames messages of one network."""

    transport_type = "v1"
    session_id = ""
    should_reconnect_v1 = False

    def __init__(self, magic: bytes, peer_id: int = -1) -> None:
        """`magic` are the network's four bytes; `peer_id` is for the log."""
        self._magic = magic
        self._peer_id = peer_id
        self._buffer = bytearray()

    def receive(self, data: bytes) -> None:
        """Take bytes that came; a header that can't be right is an error at once."""
        self._buffer += data

    def messages(self) -> Iterator[Received]:
        """Yield the messages that are complete. Raises PeerError for another network's or an oversized message."""
        buffer = self._buffer
        at = 0
        try:
            while len(buffer) - at >= HEADER_SIZE:
                magic, raw_command, length, checksum = _HEADER.unpack_from(buffer, at)
                self._check(magic, raw_command, length)
                end = at + HEADER_SIZE + length
                if end > len(buffer):
                    return
                payload = bytes(buffer[at + HEADER_SIZE : end])
                at = end
                yield Received(self._command(raw_command, payload, checksum), payload, HEADER_SIZE + length)
        finally:
            del buffer[:at]

    def encode(self, command: str, payload: bytes) -> bytes:
        """Return header and payload."""
        return _HEADER.pack(self._magic, command.encode(), len(payload), sha256d(payload)[:4]) + payload

    def pending(self) -> bytes:
        """Return nothing: this transport has no handshake of its own."""
        return b""

    def delayed(self) -> list[tuple[str, int]]:
        """Return nothing: no message has to wait."""
        return []

    def _check(self, magic: bytes, raw_command: bytes, length: int) -> None:
        if magic != self._magic:
            raise PeerError(f"Header error: Wrong MessageStart {magic.hex()} received, peer={self._peer_id}")
        if length > MAX_PROTOCOL_MESSAGE_LENGTH:
            name = sanitize(raw_command.rstrip(b"\0").decode("latin-1"))
            raise PeerError(f"Header error: Size too large ({name}, {length} bytes), peer={self._peer_id}")

    def _command(self, raw: bytes, payload: bytes, checksum: bytes) -> str:
        """Return the message's name, empty if it is to be dropped."""
        expected = sha256d(payload)[:4]
        name = raw.split(b"\0", 1)[0]
        if expected != checksum:
            logger.debug(
                "Header error: Wrong checksum (%s, %d bytes), expected %s was %s, peer=%d",
                sanitize(name.decode("latin-1")),
                len(payload),
                expected.hex(),
                checksum.hex(),
                self._peer_id,
            )
            return ""
        if raw[len(name) :].strip(b"\0") or any(not 0x20 <= byte <= 0x7E for byte in name):
            logger.debug(
                "Header error: Invalid message type (%s, %d bytes), peer=%d",
                sanitize(name.decode("latin-1")),
                len(payload),
                self._peer_id,
            )
            return ""
        return name.decode()
