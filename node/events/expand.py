"""Rows of the log become events: one row for a whole block, one event for each of its transactions and the block.

Owns: how a row expands, which fixes the index in every event's identity. Never: reading rows or blocks.
"""

from collections.abc import Collection, Iterator

from clarion.node.events.events import (
    BlockConnected,
    BlockDisconnected,
    Event,
    EventId,
    MempoolReset,
    TipChanged,
    TxAdded,
    TxConfirmed,
    TxRemoved,
    TxUnconfirmed,
)
from clarion.node.events.mempool_rows import read_added, read_removed, read_sequence
from clarion.node.events.row import EventKind, EventRow, read_tip_body
from clarion.node.primitives.block import Block
from clarion.node.primitives.transaction import Transaction

EventType = type[Event]

CHAIN_EVENTS: frozenset[EventType] = frozenset(
    (TxConfirmed, TxUnconfirmed, BlockConnected, BlockDisconnected, TipChanged)
)
"""Every type that a row about the chain can expand to."""

MEMPOOL_EVENTS: frozenset[EventType] = frozenset((TxAdded, TxRemoved, MempoolReset))
"""Every type that a row about the mempool can expand to."""

ALL_EVENTS = CHAIN_EVENTS | MEMPOOL_EVENTS

_BLOCK_EVENTS: dict[EventKind, tuple[type[TxConfirmed | TxUnconfirmed], type[BlockConnected | BlockDisconnected]]] = {
    EventKind.BLOCK_CONNECTED: (TxConfirmed, BlockConnected),
    EventKind.BLOCK_DISCONNECTED: (TxUnconfirmed, BlockDisconnected),
}


_SINGLE_EVENTS: dict[EventKind, EventType] = {
    EventKind.TIP_CHANGED: TipChanged,
    EventKind.TX_ADDED: TxAdded,
    EventKind.TX_REMOVED: TxRemoved,
    EventKind.MEMPOOL_RESET: MempoolReset,
}


def row_event_types(kind: EventKind) -> frozenset[EventType]:
    """Return the types of event that a row of this kind expands to."""
    return frozenset(_BLOCK_EVENTS[kind] if kind in _BLOCK_EVENTS else (_SINGLE_EVENTS[kind],))


def needs_block(kind: EventKind) -> bool:
    """Whether `expand_row` must be given the block of a row of this kind."""
    return kind in _BLOCK_EVENTS


def expand_row(
    row: EventRow, log_id: str, block: Block | None = None, wanted: Collection[EventType] = ALL_EVENTS
) -> Iterator[Event]:
    """Yield the events of one row in order: a block's transactions, then the block; else what the row is about.

    `block` is the row's block, needed for block rows only. `wanted` leaves out other types; the events that are left
    keep the index that they have in the whole expansion.
    """
    if row.kind in _BLOCK_EVENTS:
        assert block is not None
        assert block.hash == row.block_hash
        yield from _expand_block(row, log_id, block, wanted)
    elif _SINGLE_EVENTS[row.kind] not in wanted:
        return
    elif row.kind is EventKind.TX_REMOVED:
        yield from _expand_removed(row, log_id)
    else:
        yield _single_event(row, EventId(log_id, row.seq, 0))


def _single_event(row: EventRow, event_id: EventId) -> Event:
    about = (event_id, row.time, row.height, row.block_hash)
    if row.kind is EventKind.TX_ADDED:
        added = read_added(row.body)
        tx = Transaction.parse(added.raw)
        return TxAdded(*about, tx, added.fee_sat, added.vsize, added.spent, added.mempool_sequence)
    if row.kind is EventKind.MEMPOOL_RESET:
        return MempoolReset(*about, read_sequence(row.body))
    return TipChanged(*about, *read_tip_body(row.body))


def _expand_removed(row: EventRow, log_id: str) -> Iterator[Event]:
    assert row.reason is not None
    for index, removed in enumerate(read_removed(row.txid, row.body)):
        event_id = EventId(log_id, row.seq, index)
        about = (event_id, row.time, row.height, row.block_hash)
        yield TxRemoved(*about, removed.txid, row.reason, removed.replaced_by, removed.mempool_sequence)


def _expand_block(row: EventRow, log_id: str, block: Block, wanted: Collection[EventType]) -> Iterator[Event]:
    tx_type, block_type = _BLOCK_EVENTS[row.kind]
    if tx_type in wanted:
        for position, tx in enumerate(block.txs):
            event_id = EventId(log_id, row.seq, position)
            yield tx_type(event_id, row.time, row.height, row.block_hash, tx, position)
    if block_type in wanted:
        event_id = EventId(log_id, row.seq, len(block.txs))
        yield block_type(event_id, row.time, row.height, row.block_hash, block)
