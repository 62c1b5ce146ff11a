"""Silence in initial download."""

from clarion.node.events.row import EventRow
from clarion.notifiers.stream.sync_gate import SyncGate
from helpers.event_source import ListSource, make_block


def _passing(source: ListSource) -> list[int]:
    gate = SyncGate(source)
    return [row.seq for row in source.rows if gate.lets_pass(row)]


def test_steps_of_initial_download_are_held_back_with_their_tip() -> None:
    source = ListSource()
    source.connect(make_block(1), initial_download=True)
    source.connect(make_block(2), initial_download=True)
    source.connect(make_block(3))
    assert _passing(source) == [5, 6]


def test_rows_of_the_mempool_pass() -> None:
    source = ListSource()
    source.reset_mempool(1)
    source.connect(make_block(1), initial_download=True)
    source.add_to_mempool(make_block(2).txs[0])
    assert _passing(source) == [1, 4]


def test_the_end_of_a_long_step_is_found() -> None:
    source = ListSource()
    for nonce in range(200):
        source.connect(make_block(nonce), initial_download=True)
        if nonce < 199:
            del source.rows[-1]  # one step of 200 blocks
    source.rows = [EventRow(*_numbered(row, seq)) for seq, row in enumerate(source.rows, 1)]
    assert _passing(source) == []


def test_a_step_without_an_end_passes() -> None:
    source = ListSource()
    source.connect(make_block(1))
    del source.rows[-1]
    assert _passing(source) == [1]


def _numbered(row: EventRow, seq: int) -> tuple[object, ...]:
    return row.kind, row.block_hash, row.height, row.time, row.body, seq
