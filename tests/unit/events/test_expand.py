"""Rows of the log become events."""

from dataclasses import replace

import pytest

from clarion.node.errors import StorageError
from clarion.node.events.events import (
    BlockConnected,
    BlockDisconnected,
    EventId,
    TipChanged,
    TxConfirmed,
    TxUnconfirmed,
)
from clarion.node.events.expand import CHAIN_EVENTS, expand_row, needs_block, row_event_types
from clarion.node.events.row import EventKind, EventRow
from helpers.event_source import LOG_ID, ListSource, make_block


def _rows() -> list[EventRow]:
    source = ListSource()
    block = make_block(1, 3)
    source.connect(block)
    source.disconnect(block, bytes(32))
    return source.rows


@pytest.mark.parametrize(
    ("at", "tx_type", "block_type"), [(0, TxConfirmed, BlockConnected), (2, TxUnconfirmed, BlockDisconnected)]
)
def test_block_row_tells_transactions_in_block_order_then_the_block(
    at: int, tx_type: type[TxConfirmed], block_type: type[BlockConnected]
) -> None:
    block = make_block(1, 3)
    events = list(expand_row(_rows()[at], LOG_ID, block))
    assert [type(each) for each in events] == [tx_type] * 3 + [block_type]
    assert [each.tx.txid for each in events[:3] if isinstance(each, tx_type)] == [tx.txid for tx in block.txs]
    assert [each.id for each in events] == [EventId(LOG_ID, at + 1, index) for index in range(4)]


def test_filter_leaves_holes_but_never_renumbers() -> None:
    (event,) = expand_row(_rows()[0], LOG_ID, make_block(1, 3), {BlockConnected})
    assert str(event.id) == f"{LOG_ID}.1.3"


def test_events_carry_time_height_and_hash_of_the_row() -> None:
    row = _rows()[0]
    for event in expand_row(row, LOG_ID, make_block(1, 3)):
        assert (event.time, event.height, event.block_hash) == (row.time, row.height, row.block_hash)


def test_tip_row_tells_fork_and_initial_download() -> None:
    block = make_block(1)
    source = ListSource()
    source.connect(block, fork=b"\x07" * 32, initial_download=True)
    (event,) = expand_row(source.rows[1], LOG_ID)
    assert isinstance(event, TipChanged)
    assert (event.fork_hash, event.initial_download) == (b"\x07" * 32, True)


def test_identities_order_events() -> None:
    assert EventId(LOG_ID, 1, 9) < EventId(LOG_ID, 2, 0)


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_expands_to_its_types_or_says_that_it_does_not(kind: EventKind) -> None:
    row = replace(_rows()[0] if needs_block(kind) else _rows()[1], kind=kind)
    if not row_event_types(kind):
        with pytest.raises(StorageError, match=kind.name):
            list(expand_row(row, LOG_ID))
    else:
        block = make_block(1, 3) if needs_block(kind) else None
        assert {type(event) for event in expand_row(row, LOG_ID, block)} == row_event_types(kind) <= CHAIN_EVENTS


def test_another_block_than_the_rows_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        list(expand_row(_rows()[0], LOG_ID, make_block(2)))
