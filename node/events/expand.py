"""Rows of the log become events: one row for a whole block, one event for each of its transactions and the block.

Owns: how a row expands, which fixes the index in every event's identity. Never: reading rows or blocks.
"""

from collections.abc import Collection, Iterator

from clarion.node.errors import StorageError
from clarion.node.events.events import (
    BlockConnected,
    BlockDisconnected,
    Event,
    EventId,
    TipChanged,
    TxConfirmed,
    TxUnconfirmed,
)
from clarion.node.events.row import EventKind, EventRow, read_tip_body
from clarion.node.primitives.block import Block

EventType = type[Event]

CHAIN_EVENTS: frozenset[EventType] = frozenset(
    (TxConfirmed, TxUnconfirmed, BlockConnected, BlockDisconnected, TipChanged)
)
"""Every type that a row about the chain can expand to."""

_BLOCK_EVENTS: dict[EventKind, tuple[type[TxConfirmed | TxUnconfirmed], type[BlockConnected | BlockDisconnected]]] = {
    EventKind.BLOCK_CONNECTED: (TxConfirmed, BlockConnected),
    EventKind.BLOCK_DISCONNECTED: (TxUnconfirmed, BlockDisconnected),
}


def row_event_types(kind: EventKind) -> frozenset[EventType]:
    """Return the types of event that a row of this kind expands to: empty for a kind that is not about the chain."""
    if kind in _BLOCK_EVENTS:
        return frozenset(_BLOCK_EVENTS[kind])
    return frozenset((TipChanged,)) if kind is EventKind.TIP_CHANGED else frozenset()


def needs_block(kind: EventKind) -> bool:
    """Whether `expand_row` must be given the block of a row of this kind."""
    return kind in _BLOCK_EVENTS


def expand_row(
    row: EventRow, log_id: str, block: Block | None = None, wanted: Collection[EventType] = CHAIN_EVENTS
) -> Iterator[Event]:
    """Yield the events of one row in order: a block's transactions, then the block; for a new tip, the tip.

    `block` is the row's block, needed for block rows only. `wanted` leaves out other types; the events that are left
    keep the index that they have in the whole expansion. Raises StorageError for a kind that does not expand.
    """
    if row.kind in _BLOCK_EVENTS:
        assert block is not None
        assert block.hash == row.block_hash
        yield from _expand_block(row, log_id, block, wanted)
    elif row.kind is EventKind.TIP_CHANGED:
        if TipChanged in wanted:
            fork_hash, initial_download = read_tip_body(row.body)
            event_id = EventId(log_id, row.seq, 0)
            yield TipChanged(event_id, row.time, row.height, row.block_hash, fork_hash, initial_download)
    else:
        raise StorageError(f"event {row.seq} is of kind {row.kind.name}, which does not expand to chain events")


def _expand_block(row: EventRow, log_id: str, block: Block, wanted: Collection[EventType]) -> Iterator[Event]:
    tx_type, block_type = _BLOCK_EVENTS[row.kind]
    if tx_type in wanted:
        for position, tx in enumerate(block.txs):
            event_id = EventId(log_id, row.seq, position)
            yield tx_type(event_id, row.time, row.height, row.block_hash, tx, position)
    if block_type in wanted:
        event_id = EventId(log_id, row.seq, len(block.txs))
        yield block_type(event_id, row.time, row.height, row.block_hash, block)
