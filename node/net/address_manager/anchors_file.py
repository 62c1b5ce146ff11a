"""anchors.dat: the peers for blocks only, to be the first ones after a restart.

Whoever wants all our connections must then keep us from these two as well. Owns: the file, which is deleted as soon as
it has been read: after a crash it is not used again. Never: connecting.
Source: Bitcoin Core's src/addrdb.cpp (DumpAnchors, ReadAnchors).
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from clarion.node.errors import DecodeError
from clarion.node.net.address_manager.stored_address import CheckedFile, address_bytes, read_address, write_checked
from clarion.node.net.messages.addresses import TimedAddress
from clarion.node.primitives.codec import compact_size

MAX_ANCHORS = 2

logger = logging.getLogger("clarion.net")


def save_anchors(path: Path, magic: bytes, anchors: Sequence[TimedAddress]) -> None:
    """Write the file. What can't be written is only logged."""
    logger.info("DumpAnchors: Flush %d outbound block-relay-only peer addresses to anchors.dat", len(anchors))
    try:
        write_checked(path, magic, compact_size(len(anchors)) + b"".join(map(address_bytes, anchors)))
    except OSError as error:
        logger.error("Failed to write file %s: %s", path, error.strerror)


def take_anchors(path: Path, magic: bytes) -> list[TimedAddress]:
    """Return the addresses of the file, none if it is broken, and delete it."""
    try:
        file = CheckedFile(path.read_bytes(), magic)
        anchors = file.reader.vector(read_address)
        file.check()
    except (OSError, DecodeError):
        anchors = []
    else:
        logger.info('Loaded %d addresses from "%s"', len(anchors), path.name)
    path.unlink(missing_ok=True)
    return anchors[:MAX_ANCHORS]
