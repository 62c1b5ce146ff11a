"""Rows of the event log: what the tip commit writes and what every consumer reads.

Owns: the kinds and the row's shape. Never: SQL, delivery, or the events that a row expands to.
"""

from dataclasses import dataclass
from enum import IntEnum

from clarion.node.primitives.ids import BlockHash


class EventKind(IntEnum):
    """What a row says. The numbers are stored: never renumber them."""

    BLOCK_CONNECTED = 1
    BLOCK_DISCONNECTED = 2
    TIP_CHANGED = 3
    TX_ADDED = 4
    TX_REMOVED = 5
    MEMPOOL_RESET = 6


@dataclass(frozen=True, slots=True)
class EventRow:
    """One row of the log.

    `seq` counts from 1 without gaps (0 while it is not known); `time` is in Unix seconds; `body` is what nothing else
    could replay: for TIP_CHANGED see `tip_body`, for the mempool `mempool_rows`, else empty. `txid` and `reason` are
    those of the mempool's rows, whose block is the tip.
    """

    kind: EventKind
    block_hash: BlockHash
    height: int
    time: int
    body: bytes = b""
    seq: int = 0
    txid: bytes | None = None
    reason: str | None = None


def tip_body(fork_hash: BlockHash, initial_download: bool) -> bytes:
    """Return the body of a TIP_CHANGED row: the last block that the old and the new chain share, then one flag byte."""
    return fork_hash + bytes((initial_download,))


def read_tip_body(body: bytes) -> tuple[BlockHash, bool]:
    """Return (fork_hash, initial_download) of a TIP_CHANGED row's body."""
    return BlockHash(body[:32]), bool(body[32])
