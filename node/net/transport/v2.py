"""The encrypted transport (BIP324), which an accepting side leaves for the first one when that is what comes.

Owns: the handshake, garbage, decoys, short message ids, the fallback. Never: connections, ciphers.
Source: BIP324; the log's words are those of Bitcoin Core's src/net.cpp (V2Transport).
"""

import logging
import secrets
from collections.abc import Callable, Iterator
from enum import Enum

from clarion.node.errors import PeerError
from clarion.node.net.protocol import MAX_PROTOCOL_MESSAGE_LENGTH
from clarion.node.net.transport.ciphers import EXPANSION, LENGTH_SIZE, TERMINATOR_SIZE, PacketCiphers
from clarion.node.net.transport.ellswift import ELLSWIFT_SIZE, make_private_key, make_public_key, shared_secret
from clarion.node.net.transport.transport import Received
from clarion.node.net.transport.v1 import COMMAND_SIZE, V1Transport
from clarion.node.net.transport.v1 import HEADER_SIZE as V1_HEADER_SIZE

MAX_GARBAGE_SIZE = 4095
MAX_CONTENTS_SIZE = 1 + COMMAND_SIZE + MAX_PROTOCOL_MESSAGE_LENGTH
_V1_VERSION = b"version".ljust(COMMAND_SIZE, b"\0")

SHORT_IDS = (
    "", "addr", "block", "blocktxn", "cmpctblock", "feefilter", "filteradd", "filterclear", "filterload", "getblocks",
    "getblocktxn", "getdata", "getheaders", "headers", "inv", "mempool", "merkleblock", "notfound", "ping", "pong",
    "sendcmpct", "tx", "getcfilters", "cfilter", "getcfheaders", "cfheaders", "getcfcheckpt", "cfcheckpt", "addrv2",
)  # fmt: skip
"""Names by BIP324's one-byte ids; 0 announces a name of twelve bytes."""
_ID_OF = {name: bytes((number,)) for number, name in enumerate(SHORT_IDS) if name}

logger = logging.getLogger("clarion.net")


class _State(Enum):
    MAYBE_V1 = "waits for a key or an old version message"
    KEY = "waits for the other side's key"
    GARBAGE = "waits for the end of the garbage"
    VERSION = "waits for the version packet"
    APP = "passes messages"
    V1 = "speaks the first transport"


class V2Transport:
    """One end of an encrypted connection."""

    def __init__(
        self,
        magic: bytes,
        *,
        initiating: bool,
        peer_id: int = -1,
        garbage: bytes | None = None,
        key: bytes | None = None,
        entropy: bytes | None = None,
    ) -> None:
        """`garbage`, `key` and `entropy` (32 bytes, for the key's encoding) are random by default; an accepting side sends nothing before it has heard something."""
        self._magic = magic
        self._initiating = initiating
        self._peer_id = peer_id
        self._private_key = make_private_key() if key is None else key
        self._public_key = make_public_key(self._private_key, entropy or secrets.token_bytes(32))
        self._garbage = secrets.token_bytes(secrets.randbelow(MAX_GARBAGE_SIZE + 1)) if garbage is None else garbage
        self._state = _State.KEY if initiating else _State.MAYBE_V1
        self._buffer = bytearray()
        self._searched = 0
        """Bytes of the garbage that hold no terminator."""
        self._length: int | None = None
        self._aad = b""
        self._ciphers: PacketCiphers | None = None
        self._waiting: list[tuple[str, bytes]] = []
        self._delayed: list[tuple[str, int]] = []
        self._pending = bytearray(self._public_key + self._garbage) if initiating else bytearray()
        self._sent = 0
        self._heard = False
        self._v1 = V1Transport(magic, peer_id)

    @property
    def transport_type(self) -> str:
        """`detecting` until the other side has proved that it has the same keys."""
        if self._state is _State.V1:
            return "v1"
        return "v2" if self._state is _State.APP else "detecting"

    @property
    def session_id(self) -> str:
        """The session id in hex, empty until both sides are known to have it."""
        return self._ciphers.session_id.hex() if self._ciphers is not None and self._state is _State.APP else ""

    @property
    def should_reconnect_v1(self) -> bool:
        """Whether enough was sent for an old node to hang up, and nothing ever came."""
        return self._initiating and not self._heard and self._sent >= V1_HEADER_SIZE

    def receive(self, data: bytes) -> None:
        """Take bytes that came. Raises PeerError."""
        self._heard = self._heard or bool(data)
        if self._state is _State.V1:
            self._v1.receive(data)
            return
        self._buffer += data
        while self._handshake_step():
            pass

    def messages(self) -> Iterator[Received]:
        """Yield the messages that are complete. Raises PeerError."""
        if self._state is _State.V1:
            yield from self._v1.messages()
            return
        while self._state is _State.APP:
            packet = self._next_packet()
            if packet is None:
                return
            contents, ignore = packet
            if not ignore:
                yield self._message(contents)

    def encode(self, command: str, payload: bytes) -> bytes:
        """Return a packet; nothing while the keys are not known: then `pending` has it later."""
        if self._state is _State.V1:
            return self._v1.encode(command, payload)
        if self._ciphers is None:
            self._waiting.append((command, payload))
            return b""
        packet = self._ciphers.encrypt(_encode_name(command) + payload)
        self._sent += len(packet)
        return packet

    def pending(self) -> bytes:
        """Return key and garbage, the version packet, and messages that waited, each once."""
        out = bytes(self._pending)
        self._pending.clear()
        if out and not self._sent and self._state is not _State.V1:
            logger.debug("start sending v2 handshake to peer=%d", self._peer_id)
        self._sent += len(out)
        return out

    def delayed(self) -> list[tuple[str, int]]:
        """Return, once, the names of the messages that had to wait and their bytes on the wire."""
        delayed, self._delayed = self._delayed, []
        return delayed

    def _send_waiting(self, encode: Callable[[str, bytes], bytes]) -> None:
        for command, payload in self._waiting:
            data = encode(command, payload)
            self._pending += data
            self._delayed.append((command, len(data)))
        self._waiting = []

    # --- handshake --------------------------------------------------------------------------------------------------

    def _handshake_step(self) -> bool:
        """Go on as far as the buffer allows by one state; False if it needs more bytes or the handshake is over."""
        if self._state is _State.MAYBE_V1:
            return self._detect()
        if self._state is _State.KEY:
            return self._take_key()
        if self._state is _State.GARBAGE:
            return self._take_garbage()
        if self._state is _State.VERSION:
            return self._take_version()
        return False

    def _detect(self) -> bool:
        prefix = self._magic + _V1_VERSION
        seen = bytes(self._buffer[: len(prefix)])
        if not prefix.startswith(seen):
            self._state = _State.KEY
            # The key may look like anything, so it is sent as soon as this can't be an old node.
            self._pending += self._public_key + self._garbage
            return True
        if len(seen) == len(prefix):
            self._state = _State.V1
            self._v1.receive(bytes(self._buffer))
            self._buffer.clear()
            self._send_waiting(self._v1.encode)
        return False

    def _take_key(self) -> bool:
        buffer = self._buffer
        if not self._initiating and buffer[4 : 4 + COMMAND_SIZE] == _V1_VERSION:
            raise self._error(f"V1 peer with wrong MessageStart {buffer[:4].hex()}")
        if len(buffer) < ELLSWIFT_SIZE:
            return False
        theirs = bytes(buffer[:ELLSWIFT_SIZE])
        del buffer[:ELLSWIFT_SIZE]
        secret = shared_secret(self._private_key, self._public_key, theirs, self._initiating)
        self._ciphers = PacketCiphers(secret, self._magic, self._initiating)
        self._state = _State.GARBAGE
        # The version packet proves that the garbage was ours.
        self._pending += self._ciphers.send_terminator + self._ciphers.encrypt(b"", self._garbage)
        self._send_waiting(self.encode)
        return True

    def _take_garbage(self) -> bool:
        assert self._ciphers is not None
        buffer = self._buffer
        at = buffer.find(self._ciphers.receive_terminator, self._searched)
        if 0 <= at <= MAX_GARBAGE_SIZE:
            self._aad = bytes(buffer[:at])
            del buffer[: at + TERMINATOR_SIZE]
            self._state = _State.VERSION
            return True
        if at > MAX_GARBAGE_SIZE or len(buffer) >= MAX_GARBAGE_SIZE + TERMINATOR_SIZE:
            raise self._error("missing garbage terminator")
        self._searched = max(0, len(buffer) - TERMINATOR_SIZE + 1)
        return False

    def _take_version(self) -> bool:
        packet = self._next_packet()
        if packet is None:
            return False
        if not packet[1]:
            # Its contents are for later versions of the protocol.
            self._state = _State.APP
        return True

    # --- packets ----------------------------------------------------------------------------------------------------

    def _next_packet(self) -> tuple[bytes, bool] | None:
        """Return (contents, whether to ignore them) of the next packet, None if it is not complete."""
        assert self._ciphers is not None
        buffer = self._buffer
        if self._length is None:
            if len(buffer) < LENGTH_SIZE:
                return None
            self._length = self._ciphers.decrypt_length(bytes(buffer[:LENGTH_SIZE]))
            if self._length > MAX_CONTENTS_SIZE:
                raise self._error(f"packet too large ({self._length} bytes)")
        end = self._length + EXPANSION
        if len(buffer) < end:
            return None
        try:
            packet = self._ciphers.decrypt(bytes(buffer[LENGTH_SIZE:end]), self._aad)
        except PeerError:
            raise self._error(f"packet decryption failure ({self._length} bytes)") from None
        del buffer[:end]
        self._length = None
        self._aad = b""
        return packet

    def _message(self, contents: bytes) -> Received:
        command, at = _decode_name(contents)
        wire_size = len(contents) + EXPANSION
        if not command:
            logger.debug(
                "V2 transport error: invalid message type (%d bytes contents), peer=%d", len(contents), self._peer_id
            )
        return Received(command, contents[at:], wire_size)

    def _error(self, what: str) -> PeerError:
        return PeerError(f"V2 transport error: {what}, peer={self._peer_id}")


def _encode_name(command: str) -> bytes:
    return _ID_OF.get(command) or b"\0" + command.encode().ljust(COMMAND_SIZE, b"\0")


def _decode_name(contents: bytes) -> tuple[str, int]:
    """Return (name, where the payload begins); the name is empty if it is none."""
    if not contents:
        return "", 0
    if contents[0]:
        return (SHORT_IDS[contents[0]], 1) if contents[0] < len(SHORT_IDS) else ("", 1)
    raw = contents[1 : 1 + COMMAND_SIZE]
    name = raw.split(b"\0", 1)[0]
    if len(raw) < COMMAND_SIZE or raw[len(name) :].strip(b"\0") or any(not 0x20 <= byte <= 0x7F for byte in name):
        return "", len(contents)
    return name.decode(), 1 + COMMAND_SIZE
