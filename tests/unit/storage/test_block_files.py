"""Block files: format, roll-over, recovery, keys, files that vanish."""

import os
from pathlib import Path

import pytest

from clarion.node.errors import BlockFileError, StorageError
from clarion.node.storage.block_files import BlockFiles, Unnamed
from clarion.node.storage.rows import BlockPosition

MAGIC = b"\xfa\xbf\xb5\xda"


@pytest.fixture
def files(tmp_path: Path) -> BlockFiles:
    return BlockFiles(tmp_path, MAGIC)


def test_format_is_magic_length_block(files: BlockFiles, tmp_path: Path) -> None:
    assert files.append(b"first") == BlockPosition(0, 8, 5)
    assert files.append(b"second!") == BlockPosition(0, 21, 7)
    files.sync()
    expected = MAGIC + b"\x05\0\0\0first" + MAGIC + b"\x07\0\0\0second!"
    assert (tmp_path / "blk00000.dat").read_bytes() == expected


def test_files_roll_over_before_the_limit(tmp_path: Path) -> None:
    files = BlockFiles(tmp_path, MAGIC, max_file_size=40)
    positions = [files.append(bytes(12)) for _ in range(5)]
    assert [(position.file, position.offset) for position in positions] == [(0, 8), (0, 28), (1, 8), (1, 28), (2, 8)]
    files.sync()
    assert [files.read(position) for position in positions] == [bytes(12)] * 5


def test_block_larger_than_the_limit_gets_a_file(tmp_path: Path) -> None:
    files = BlockFiles(tmp_path, MAGIC, max_file_size=40)
    assert [files.append(bytes(100)).file for _ in range(2)] == [0, 1]


def test_torn_tail_is_cut(files: BlockFiles, tmp_path: Path) -> None:
    last = files.append(b"committed")
    files.append(b"never committed")
    again = BlockFiles(tmp_path, MAGIC)
    assert again.recover(last) == Unnamed(0, 8 + len(b"never committed"))
    assert again.append(b"next").offset == last.end + 8
    assert again.read(last) == b"committed"


@pytest.mark.parametrize("key", [b"", bytes(range(1, 9))])
def test_whole_records_that_the_index_does_not_know_are_kept(key: bytes, tmp_path: Path) -> None:
    if key:
        (tmp_path / "xor.dat").write_bytes(key)
    files = BlockFiles(tmp_path, MAGIC)
    last = files.append(b"committed")
    newer = [files.append(bytes([number]) * 100) for number in (1, 2)]
    files.append(bytes(300))
    files.sync()
    path = tmp_path / "blk00000.dat"
    os.truncate(path, path.stat().st_size - 7)
    again = BlockFiles(tmp_path, MAGIC)
    assert again.recover(last) == Unnamed(2, 300 + 8 - 7)
    assert again.append(b"next").offset == newer[-1].end + 8
    assert [again.read(position) for position in newer] == [b"\x01" * 100, b"\x02" * 100]


def test_records_behind_a_damaged_one_are_kept_too(files: BlockFiles, tmp_path: Path) -> None:
    last = files.append(b"committed")
    newer = [files.append(bytes([number]) * 100) for number in (1, 2, 3)]
    files.sync()
    path = tmp_path / "blk00000.dat"
    data = bytearray(path.read_bytes())
    data[newer[1].offset - 8] ^= 1
    path.write_bytes(data + MAGIC + b"torn")
    again = BlockFiles(tmp_path, MAGIC)
    assert again.recover(last) == Unnamed(2, 8)
    assert again.append(b"next").offset == newer[-1].end + 8
    assert [again.read(newer[number]) for number in (0, 2)] == [b"\x01" * 100, b"\x03" * 100]


def test_they_go_where_the_caller_writes_them_again(files: BlockFiles, tmp_path: Path) -> None:
    last = files.append(b"committed")
    files.append(bytes(100))
    again = BlockFiles(tmp_path, MAGIC)
    assert again.recover(last, keep=False) == Unnamed(0, 108)
    assert again.append(b"next").offset == last.end + 8


def test_files_that_the_index_does_not_know_are_kept(files: BlockFiles, tmp_path: Path) -> None:
    foreign = tmp_path / "blk00003.dat"
    foreign.write_bytes(b"another program's")
    assert files.recover(None) == Unnamed(0, 0)
    assert files.append(b"block").file == 4
    assert foreign.read_bytes() == b"another program's"


def test_known_files_are_cut_and_unknown_ones_behind_are_kept(files: BlockFiles, tmp_path: Path) -> None:
    last = files.append(b"committed")
    files.append(b"not")
    (tmp_path / "blk00001.dat").write_bytes(b"unknown")
    again = BlockFiles(tmp_path, MAGIC)
    assert again.recover(last) == Unnamed(0, 11)
    assert again.append(b"next").file == 2


def test_appending_never_overwrites_what_a_lost_file_held(files: BlockFiles, tmp_path: Path) -> None:
    files.recover(BlockPosition(2, 8, 100))
    assert files.append(b"block").file == 3


def test_key_of_the_folder_is_used_both_ways(tmp_path: Path) -> None:
    key = bytes(range(1, 9))
    (tmp_path / "xor.dat").write_bytes(key)
    files = BlockFiles(tmp_path, MAGIC)
    positions = [files.append(bytes(length)) for length in (1, 7, 8, 9, 1000)]
    assert [len(files.read(position)) for position in positions] == [1, 7, 8, 9, 1000]
    stored = (tmp_path / "blk00000.dat").read_bytes()
    plain = bytes(byte ^ key[at % 8] for at, byte in enumerate(stored))
    assert plain[:9] == MAGIC + b"\x01\0\0\0\0"


def test_key_of_zeros_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "xor.dat").write_bytes(bytes(8))
    BlockFiles(tmp_path, MAGIC).append(b"block")
    assert (tmp_path / "blk00000.dat").read_bytes().endswith(b"block")


def test_key_of_a_wrong_length_is_refused(tmp_path: Path) -> None:
    (tmp_path / "xor.dat").write_bytes(bytes(7))
    with pytest.raises(BlockFileError, match="7 bytes"):
        BlockFiles(tmp_path, MAGIC)


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        pytest.param(BlockPosition(1, 8, 5), "No such file", id="no-file"),
        pytest.param(BlockPosition(0, 9, 5), "no record of 5 bytes at offset 9", id="wrong-offset"),
        pytest.param(BlockPosition(0, 8, 6), "no record of 6 bytes", id="wrong-length"),
        pytest.param(BlockPosition(0, 1000, 5), "no record", id="behind-the-end"),
    ],
)
def test_wrong_positions_are_found_out(files: BlockFiles, position: BlockPosition, reason: str) -> None:
    files.append(b"block")
    with pytest.raises(BlockFileError, match=reason):
        files.read(position)


def test_cut_off_record_is_found_out(files: BlockFiles, tmp_path: Path) -> None:
    position = files.append(b"block")
    os.truncate(tmp_path / "blk00000.dat", 10)
    with pytest.raises(BlockFileError, match="cut off"):
        files.read(position)


def test_file_moved_away_and_back(files: BlockFiles, tmp_path: Path) -> None:
    position = files.append(b"block")
    assert files.read(position) == b"block"
    (tmp_path / "blk00000.dat").rename(tmp_path / "moved")
    with pytest.raises(BlockFileError, match=r"blk00000\.dat: No such file"):
        files.read(position)
    (tmp_path / "moved").rename(tmp_path / "blk00000.dat")
    assert files.read(position) == b"block"


def test_appending_to_a_file_that_was_moved_away(files: BlockFiles, tmp_path: Path) -> None:
    first = files.append(b"block")
    (tmp_path / "blk00000.dat").rename(tmp_path / "moved")
    second = files.append(b"later")
    files.sync()
    assert files.read(second) == b"later"
    with pytest.raises(BlockFileError):
        files.read(first)
    assert (tmp_path / "moved").stat().st_size == first.end


def test_many_files_keep_few_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.node.storage.flat_files.MAX_OPEN_FILES", 4)
    files = BlockFiles(tmp_path, MAGIC, max_file_size=10)
    positions = [files.append(b"block") for _ in range(20)]
    files.sync()
    before = len(os.listdir("/proc/self/fd"))
    assert [files.read(position) for position in positions * 2] == [b"block"] * 40
    assert len(os.listdir("/proc/self/fd")) <= before + 4
    files.close()


def test_folder_that_is_gone_is_a_storage_error(tmp_path: Path) -> None:
    files = BlockFiles(tmp_path / "missing", MAGIC)
    with pytest.raises(StorageError, match="No such file"):
        files.append(b"block")
