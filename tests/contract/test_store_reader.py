"""Snapshots for other processes, on every database."""

from pathlib import Path

import pytest

from clarion.node.errors import BlockFileError, ConfigError, StorageError
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.block_status import HAVE_DATA, HAVE_UNDO
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.database import Database
from clarion.node.storage.rows import ChainCommit
from clarion.node.storage.undo_files import UndoFiles, encode_spent
from helpers.databases import Place
from helpers.rows import block_hash, block_row, chain_of, coin


def test_empty_chain(reader: ChainReader) -> None:
    with reader.snapshot() as view:
        assert view.tip() is None
        assert view.height() == -1
        assert view.block(block_hash(0)) is None
        assert view.hash_at(0) is None


def test_blocks_by_hash_and_height(database: Database, reader: ChainReader) -> None:
    database.chain.commit(chain_of(6))
    with reader.snapshot() as view:
        assert view.tip() == view.block_at(5) == view.block(block_hash(5)) == block_row(5)
        assert view.hash_at(3) == block_hash(3)
        assert view.hash_at(6) is None
        assert [row.height for row in view.rows_from(4, 10)] == [4, 5]
        assert view.rows_from(6, 10) == []


def test_place_on_and_off_the_active_chain(database: Database, reader: ChainReader) -> None:
    database.chain.commit(chain_of(6))
    stale = block_row(4, "b", parent="a")
    database.chain.commit(ChainCommit(blocks=[stale]))
    with reader.snapshot() as view:
        assert view.place(block_row(4)) == (2, block_hash(5))
        assert view.place(block_row(5)) == (1, None)
        assert view.place(stale) == (-1, None)
        assert not view.is_active(stale)
        assert view.fork(stale) == block_row(3)


def test_block_with_its_place_is_one_answer(database: Database, reader: ChainReader) -> None:
    database.chain.commit(chain_of(6))
    stale = block_row(4, "b", parent="a")
    database.chain.commit(ChainCommit(blocks=[stale, block_row(9, "b")]))
    with reader.snapshot() as view:
        assert view.placed_block(block_hash(4)) == (block_row(4), (2, block_hash(5)))
        assert view.placed_block(block_hash(5)) == (block_row(5), (1, None))
        assert view.placed_block(stale.hash) == (stale, (-1, None))
        assert view.placed_block(block_hash(9, "b")) == (block_row(9, "b"), (-1, None))
        assert view.placed_block(block_hash(7)) is None


def test_errors_inside_a_snapshot_name_the_database(reader: ChainReader) -> None:
    with pytest.raises(StorageError, match="no_such_table"), reader.snapshot() as view:
        view._rows("SELECT * FROM no_such_table WHERE height = ?", (1,))
    with reader.snapshot() as view:
        assert view.height() == -1


def test_medians_are_found_anew_once_many_are_kept(
    database: Database, reader: ChainReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarion.node.storage.chain_reader._MEDIANS_KEPT", 2)
    database.chain.commit(chain_of(20))
    for _ in range(2):
        for height in (10, 19, 12, 15):
            with reader.snapshot() as view:
                assert view.median_time_past(block_row(height)) == block_row(height - 5).time


def test_median_time_past_walks_each_branch(database: Database, reader: ChainReader) -> None:
    database.chain.commit(chain_of(20))
    branch = [block_row(15, "b", parent="a", time=5), block_row(16, "b", time=6)]
    database.chain.commit(ChainCommit(blocks=branch))
    with reader.snapshot() as view:
        assert view.median_time_past(block_row(19)) == block_row(14).time
        assert view.median_time_past(block_row(4)) == block_row(2).time
        assert view.median_time_past(block_row(0)) == block_row(0).time
        # Times 5 and 6, then those of heights 14 down to 6: the median is the sixth smallest.
        assert view.median_time_past(branch[1]) == block_row(9).time


def test_ancestor_over_the_fork(database: Database, reader: ChainReader) -> None:
    database.chain.commit(chain_of(8))
    branch = [block_row(5, "b", parent="a"), block_row(6, "b")]
    database.chain.commit(ChainCommit(blocks=branch))
    with reader.snapshot() as view:
        assert view.ancestor(branch[1], 6) == branch[1]
        assert view.ancestor(branch[1], 5) == branch[0]
        assert view.ancestor(branch[1], 2) == block_row(2)
        assert view.ancestor(branch[1], 7) is None


def test_two_statements_see_one_state(durable_place: Place) -> None:
    with durable_place.open() as database, durable_place.reader() as reader:
        database.chain.commit(chain_of(5))
        with reader.snapshot() as view:
            tip = view.tip()
            database.chain.commit(
                ChainCommit(blocks=[block_row(3, "b")], disconnect_to=2, connect=[(3, block_hash(3, "b"))])
            )
            assert tip is not None
            assert view.confirmations(tip) == 1
            assert view.hash_at(3) == block_hash(3)
        with reader.snapshot() as view:
            assert view.confirmations(tip) == -1
            assert view.height() == 3


def test_reader_cannot_write(reader: ChainReader) -> None:
    with pytest.raises(StorageError, match=r"read-?only"), reader.snapshot() as view:
        view._rows("DELETE FROM blocks")


def test_reader_of_nothing_says_so(place: Place) -> None:
    with pytest.raises(ConfigError):
        place.reader()


def test_files_are_read_through_rows(place: Place, database: Database) -> None:
    folder = place.chain_dir / "blocks"
    folder.mkdir()
    blocks, undo = BlockFiles(folder, place.network.magic), UndoFiles(folder, place.network.magic)
    raw, spent = b"\x02" * 300, [[coin(1), coin(2)], [coin(3)]]
    data = blocks.append(raw)
    position = undo.append(data.file, block_hash(1), spent)
    row = block_row(1)._replace(
        status=HAVE_DATA | HAVE_UNDO, file=data.file, data_pos=data.offset, data_size=data.length,
        undo_pos=position.offset, undo_size=position.length,
    )  # fmt: skip
    with place.reader() as reader:
        assert reader.read_block(row) == raw
        assert reader.read_spent(row) == encode_spent(spent)
        assert reader.read_undo(row) == spent
        assert reader.read_spent(block_row(0)) == b"\x01\x00"
        for read in (reader.read_block, reader.read_spent):
            with pytest.raises(BlockFileError, match="not stored"):
                read(row._replace(status=0))


def test_moved_files_are_missed_at_once(place: Place, database: Database, tmp_path: Path) -> None:
    folder = place.chain_dir / "blocks"
    folder.mkdir()
    data = BlockFiles(folder, place.network.magic).append(b"\x02" * 300)
    row = block_row(1)._replace(status=HAVE_DATA, data_pos=data.offset, data_size=data.length)
    with place.reader() as reader:
        assert len(reader.read_block(row)) == 300
        (folder / "blk00000.dat").rename(tmp_path / "moved")
        with pytest.raises(BlockFileError, match="No such file"):
            reader.read_block(row)
        (tmp_path / "moved").rename(folder / "blk00000.dat")
        assert len(reader.read_block(row)) == 300
