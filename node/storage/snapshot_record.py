"""What the chain database keeps of a snapshot of unspent outputs that the chain started from.

Owns: the record's bytes. Never: deciding on its state.
"""

from dataclasses import dataclass
from enum import Enum

from clarion.node.primitives.ids import BlockHash

SNAPSHOT_KEY = "snapshot"
"""Setting of the chain database that holds the record; empty or missing where all blocks were connected from genesis."""

RELINK_KEY = "relink"
"""Setting that is not empty while transaction counts of blocks rest on a snapshot that is not used any more."""


class SnapshotState(Enum):
    """Where the chain stands to its snapshot. The bytes are stored."""

    UNVALIDATED = b"u"
    """The active chain's coins are in the snapshot's place; the history below is still being validated."""
    VALIDATED = b"v"
    """The history led to the same coins. They stay where they are until the next start."""
    INVALID = b"i"
    """The history led elsewhere: the active chain is the one that was validated."""


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """A snapshot in use. `load_id` are 8 random bytes of the load, so that readers notice another one."""

    state: SnapshotState
    base: BlockHash
    load_id: bytes

    def encode(self) -> bytes:
        """Return the record as it is stored."""
        return self.state.value + self.base + self.load_id


def decode_record(data: bytes | None) -> SnapshotRecord | None:
    """Return a stored record, None where there is none."""
    if not data:
        return None
    return SnapshotRecord(SnapshotState(data[:1]), BlockHash(data[1:33]), data[33:])
