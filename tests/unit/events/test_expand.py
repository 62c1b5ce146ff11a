"""Rows of the log become events."""

import pytest

from clarion.node.events.events import (
    BlockConnected,
    BlockDisconnected,
    EventId,
    MempoolReset,
    TipChanged,
    TxAdded,
    TxConfirmed,
    TxRemoved,
    TxUnconfirmed,
)
from clarion.node.events.expand import ALL_EVENTS, expand_row, needs_block, row_event_types
from clarion.node.events.row import EventKind, EventRow
from helpers.event_source import LOG_ID, SPENT, ListSource, make_block


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


def _mempool_rows() -> list[EventRow]:
    source = ListSource()
    tx, other = make_block(1, 2).txs
    source.add_to_mempool(tx, mempool_sequence=1, fee_sat=250, vsize=141)
    source.remove_from_mempool(tx.txid, "replaced", 2, replaced_by=other.txid)
    source.remove_from_mempool(tx.txid, "expiry", 3)
    source.confirm([(tx.txid, 4), (other.txid, 5)])
    source.reset_mempool(6)
    return source.rows


def test_added_row_tells_the_transaction_with_what_it_pays_and_spends() -> None:
    (event,) = expand_row(_mempool_rows()[0], LOG_ID)
    tx = make_block(1, 2).txs[0]
    assert isinstance(event, TxAdded)
    assert (event.tx.raw, event.fee_sat, event.vsize, event.mempool_sequence) == (tx.raw, 250, 141, 1)
    assert event.spent == (SPENT,)


def test_removed_row_tells_reason_and_successor() -> None:
    tx, other = make_block(1, 2).txs
    replaced, expired = (next(expand_row(row, LOG_ID)) for row in _mempool_rows()[1:3])
    assert isinstance(replaced, TxRemoved)
    assert isinstance(expired, TxRemoved)
    assert (replaced.txid, replaced.reason, replaced.replaced_by) == (tx.txid, "replaced", other.txid)
    assert (expired.reason, expired.replaced_by, expired.mempool_sequence) == ("expiry", None, 3)


def test_row_of_a_block_tells_each_transaction_that_it_took_out() -> None:
    events = [event for event in expand_row(_mempool_rows()[3], LOG_ID) if isinstance(event, TxRemoved)]
    assert [(event.txid, event.mempool_sequence) for event in events] == [
        (tx.txid, sequence) for tx, sequence in zip(make_block(1, 2).txs, (4, 5), strict=True)
    ]
    assert [(event.id.index, event.reason) for event in events] == [(0, "block"), (1, "block")]


def test_reset_row_tells_the_next_sequence() -> None:
    (event,) = expand_row(_mempool_rows()[4], LOG_ID)
    assert isinstance(event, MempoolReset)
    assert event.mempool_sequence == 6


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_expands_to_its_types_and_to_nothing_that_is_not_wanted(kind: EventKind) -> None:
    row = next(row for row in (*_rows(), *_mempool_rows()) if row.kind is kind)
    block = make_block(1, 3) if needs_block(kind) else None
    types = row_event_types(kind)
    assert {type(event) for event in expand_row(row, LOG_ID, block)} == types <= ALL_EVENTS
    assert list(expand_row(row, LOG_ID, block, ALL_EVENTS - types)) == []


def test_another_block_than_the_rows_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        list(expand_row(_rows()[0], LOG_ID, make_block(2)))
