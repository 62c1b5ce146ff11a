"""Block index, active chain, settings and the log, on every database."""

import dataclasses

import pytest

from clarion.node.errors import StorageError
from clarion.node.events.row import EventKind, EventRow
from clarion.node.storage.chain_store import decode_block_row
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from helpers.databases import Place
from helpers.rows import block_hash, block_row, chain_of, connected


def test_new_store_is_empty(database: Database) -> None:
    assert list(database.chain.load_blocks()) == []
    assert database.chain.load_active() == []
    assert database.chain.last_seq == 0
    assert database.events.read(0, 10) == []


def test_block_rows_come_back_equal_and_by_height(database: Database) -> None:
    big = block_row(2)._replace(
        chainwork=2**256 - 1, status=0xFFF, tx_count=2**31 - 1, chain_tx_count=2**40, file=99_999,
        data_pos=2**31, data_size=4_000_000, undo_pos=2**32, undo_size=3, sequence_id=-(2**31),
    )  # fmt: skip
    database.chain.commit(ChainCommit(blocks=[big, block_row(0), block_row(1, "b"), block_row(1)]))
    rows = list(database.chain.load_blocks())
    assert [row.height for row in rows] == [0, 1, 1, 2]
    assert rows[-1] == big
    assert sorted(rows[1:3]) == sorted([block_row(1), block_row(1, "b")])


def test_block_rows_are_replaced_by_hash(database: Database) -> None:
    database.chain.commit(ChainCommit(blocks=[block_row(0)]))
    database.chain.commit(ChainCommit(blocks=[block_row(0)._replace(status=37, undo_pos=7)]))
    (row,) = database.chain.load_blocks()
    assert (row.status, row.undo_pos) == (37, 7)


def test_loading_goes_over_many_pages(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.chain_store._PAGE", 3)
    database.chain.commit(chain_of(7))
    database.chain.commit(ChainCommit(blocks=[block_row(3, branch) for branch in "bcdefgh"]))
    assert [row.height for row in database.chain.load_blocks()] == [0, 1, 2, *[3] * 8, 4, 5, 6]
    assert database.chain.load_active() == [block_hash(height) for height in range(7)]


def test_columns_hold_what_rows_hold(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.chain_store._PAGE", 3)
    database.chain.commit(chain_of(7))
    pages = list(database.chain.block_pages())
    rows = [decode_block_row(row) for page in pages for row in zip(*page, strict=True)]
    assert sorted(rows) == sorted(database.chain.load_blocks())
    assert database.chain.count_blocks() == len(rows) == 7
    assert b"".join(database.chain.active_pages()) == b"".join(map(block_hash, range(7)))


def test_reorganisation_cuts_then_connects(database: Database) -> None:
    database.chain.commit(chain_of(5))
    branch = [block_row(3, "b", parent="a"), block_row(4, "b")]
    connect = [(row.height, row.hash) for row in branch]
    database.chain.commit(ChainCommit(blocks=branch, disconnect_to=2, connect=connect))
    expected = [block_hash(height) for height in range(3)] + [row.hash for row in branch]
    assert database.chain.load_active() == expected


def test_disconnect_to_minus_one_empties_the_chain(database: Database) -> None:
    database.chain.commit(chain_of(3))
    database.chain.commit(ChainCommit(disconnect_to=-1))
    assert database.chain.load_active() == []


def test_seqs_have_no_gaps_over_commits_and_restarts(place: Place) -> None:
    with place.open() as database:
        assert database.chain.commit(chain_of(3)) == 3
        assert database.chain.commit(ChainCommit()) == 3
        if place.kind != "sqlite-memory":
            database.close()
            database = place.open()
        assert database.chain.last_seq == 3
        assert database.chain.commit(ChainCommit(events=[connected(3), connected(4)])) == 5
        assert [row.seq for row in database.events.read(0, 100)] == [1, 2, 3, 4, 5]
        database.close()


def test_event_rows_come_back_equal(database: Database) -> None:
    row = EventRow(EventKind.TX_REMOVED, block_hash(1), 9, 1_700_000_000, b"\x00body", 0, b"\x01" * 32, "replaced")
    database.chain.commit(ChainCommit(events=[connected(0), row]))
    assert database.events.read(1, 10) == [dataclasses.replace(row, seq=2)]
    assert database.events.read(0, 1) == [dataclasses.replace(connected(0), seq=1)]
    assert database.events.last_seq() == 2


def test_failed_commit_leaves_nothing_and_the_store_usable(database: Database) -> None:
    database.chain.commit(chain_of(2))
    twice = [(2, block_hash(2)), (2, block_hash(2, "b"))]
    with pytest.raises(StorageError):
        database.chain.commit(
            ChainCommit(blocks=[block_row(2)], connect=twice, events=[connected(2)], meta={"key": b"x"})
        )
    assert len(list(database.chain.load_blocks())) == 2
    assert database.chain.read_meta("key") is None
    assert database.chain.commit(ChainCommit(events=[connected(2)])) == 3


def test_meta_is_set_and_replaced(database: Database) -> None:
    database.chain.commit(ChainCommit(meta={"key": b"\x00\xff"}))
    database.chain.commit(ChainCommit(meta={"key": b"second", "other": b""}))
    assert database.chain.read_meta("key") == b"second"
    assert database.chain.read_meta("other") == b""
    assert database.chain.read_meta("none") is None


def test_what_is_behind_a_row_counts_as_the_events_it_expands_to(database: Database) -> None:
    many = EventRow(EventKind.TX_REMOVED, block_hash(1), 1, 5, bytes(3 * 40), reason="block")
    one = EventRow(EventKind.TX_REMOVED, block_hash(1), 1, 6, bytes(8), txid=bytes(32), reason="expiry")
    database.chain.commit(ChainCommit(blocks=[block_row(0)], events=[connected(0), many, one]))
    assert database.events.behind(0) == (block_row(0).tx_count + 1 + 3 + 1, 5)
    assert database.events.behind(2) == (1, 6)
    assert database.events.behind(3) == (0, None)


def test_log_id_is_kept(place: Place) -> None:
    with place.open() as database, place.reader() as reader:
        log_id = database.log_id
        assert len(log_id) == 16
        assert int(log_id, 16) >= 0
        assert reader.events.log_id == database.events.log_id == log_id
    if place.kind != "sqlite-memory":
        with place.open() as again:
            assert again.log_id == log_id
