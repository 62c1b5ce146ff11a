"""All messages of all peers in files, for those who study the protocol.

Owns: the files and their form, which is that of the reference's contrib/message-capture. Never: messages' meaning.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from clarion.node.net.address import Endpoint
from clarion.node.net.reader import U32, U64
from clarion.node.net.transport.v1 import COMMAND_SIZE

FOLDER = "message_capture"

logger = logging.getLogger("clarion.net")

Capture = Callable[[str, bytes, bool], None]
"""Takes a message's name, its payload, and whether it came in."""


class MessageCapture:
    """Writes messages below the network's folder, a folder for each address. Belongs to the network thread."""

    def __init__(self, data_dir: Path, now_us: Callable[[], int]) -> None:
        self._folder = data_dir / FOLDER
        self._now_us = now_us

    def of_peer(self, endpoint: Endpoint) -> Capture:
        """Return what takes the messages of a peer: at the time when they are handled, or handed to the connection."""
        folder = self._folder / str(endpoint).replace(":", "_")

        def capture(command: str, payload: bytes, incoming: bool) -> None:
            head = U64(self._now_us()) + command.encode().ljust(COMMAND_SIZE, b"\0") + U32(len(payload))
            try:
                folder.mkdir(parents=True, exist_ok=True)
                with (folder / ("msgs_recv.dat" if incoming else "msgs_sent.dat")).open("ab") as file:
                    file.write(head + payload)
            except OSError as error:
                logger.error("A message of %s could not be captured: %s", endpoint, error)

        return capture
