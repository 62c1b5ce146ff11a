"""What filters accept, one by one and through the index of all."""

from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarion.node.events.cursor import log_start
from clarion.node.events.events import EventId, TipChanged, TxAdded, TxConfirmed, TxRemoved
from clarion.node.primitives.ids import NULL_HASH, BlockHash, Txid, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.notifiers.stream.filter_index import FilterIndex
from clarion.notifiers.stream.filters import EventFilter, StreamEvent

LOG = "00112233445566ff"
HASH = BlockHash(NULL_HASH)
ABOUT = (EventId(LOG, 1, 0), 0, 5, HASH)
MADE, SPENT, DATA = b"\x51", b"\x52", b"\x6a\x04wxyz"
OUTPOINT = make_outpoint(b"\x07" * 32, 1)
TX = Transaction(2, [TxIn(OUTPOINT)], [TxOut(700, MADE), TxOut(0, DATA)])


def _told(event: object) -> StreamEvent:
    return StreamEvent(event, log_start(LOG))  # type: ignore[arg-type]


ADDED = _told(TxAdded(*ABOUT, TX, 100, TX.vsize, (TxOut(800, SPENT),), 1))
REMOVED = _told(TxRemoved(*ABOUT, TX.txid, "replaced", None, 2))
CONFIRMED = _told(TxConfirmed(*ABOUT, TX, 1))
FOR_BLOCK = _told(TxRemoved(*ABOUT, TX.txid, "block", None, 2))
TIP = _told(TipChanged(*ABOUT, HASH, False))

FITTING = {
    "everything": EventFilter(),
    "txid": EventFilter(txids=frozenset({TX.txid})),
    "script made": EventFilter(scripts=frozenset({MADE})),
    "script spent": EventFilter(scripts=frozenset({SPENT})),
    "script hash": EventFilter(script_hashes=frozenset({sha256(SPENT).digest()})),
    "outpoint": EventFilter(outpoints=frozenset({OUTPOINT})),
    "data": EventFilter(op_returns=(b"wx",)),
    "value": EventFilter(min_value_sat=800),
    "value of the script": EventFilter(scripts=frozenset({MADE}), min_value_sat=700),
    "one of two": EventFilter(txids=frozenset({b"\x01" * 32}), outpoints=frozenset({OUTPOINT})),
}
OTHERS = {
    "type": EventFilter(types=frozenset({TxConfirmed})),
    "txid": EventFilter(txids=frozenset({b"\x01" * 32})),
    "script": EventFilter(scripts=frozenset({b"\x53"})),
    "script hash": EventFilter(script_hashes=frozenset({MADE})),
    "outpoint": EventFilter(outpoints=frozenset({make_outpoint(b"\x07" * 32, 0)})),
    "data": EventFilter(op_returns=(b"x",)),
    "value": EventFilter(min_value_sat=801),
    "value of the script": EventFilter(scripts=frozenset({MADE}), min_value_sat=800),
}


@pytest.mark.parametrize("wanted", FITTING.values(), ids=FITTING)
def test_transaction_that_fits_passes(wanted: EventFilter) -> None:
    assert wanted.accepts(ADDED)


@pytest.mark.parametrize("wanted", OTHERS.values(), ids=OTHERS)
def test_transaction_that_does_not_fit_is_left_out(wanted: EventFilter) -> None:
    assert not wanted.accepts(ADDED)


def test_removal_is_never_lost_to_a_filter_by_content_unless_a_block_confirms_it() -> None:
    by_script, by_txid = EventFilter(scripts=frozenset({b"\x53"})), EventFilter(txids=frozenset({TX.txid}))
    assert by_script.accepts(REMOVED)
    assert not by_script.accepts(FOR_BLOCK)
    assert by_txid.accepts(FOR_BLOCK)
    assert not EventFilter(txids=frozenset({Txid(bytes(32))})).accepts(REMOVED)


def test_keys_are_for_transactions_only() -> None:
    assert EventFilter(scripts=frozenset({b"\x53"})).accepts(TIP)


@given(st.lists(st.sampled_from([*FITTING.values(), *OTHERS.values()]), max_size=8), st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_index_finds_exactly_those_whose_filter_accepts(filters: list[EventFilter], gone: int) -> None:
    index: FilterIndex[int] = FilterIndex()
    for who, wanted in enumerate(filters):
        index.add(who, wanted)
    index.remove(gone)
    for told in (ADDED, REMOVED, CONFIRMED, FOR_BLOCK, TIP):
        expected = [who for who, wanted in enumerate(filters) if who != gone and wanted.accepts(told)]
        assert sorted(index.find(told)) == expected


def test_index_forgets_keys_of_those_who_left() -> None:
    index: FilterIndex[str] = FilterIndex()
    index.add("a", FITTING["script hash"])
    index.remove("a")
    assert (len(index), index.types(), index.needs_spent()) == (0, frozenset(), False)
