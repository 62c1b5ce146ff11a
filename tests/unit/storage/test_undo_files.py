"""Undo files: the record's layout, its checksum, what damage does."""

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.errors import BlockFileError
from clarion.node.primitives.coin import Coin, encode_outputs
from clarion.node.storage.rows import BlockPosition
from clarion.node.storage.undo_files import GENESIS_SPENT, UndoFiles, _decode_spent, encode_spent, encode_undo
from helpers.rows import block_hash, coin

MAGIC = b"\xfa\xbf\xb5\xda"
SPENT = [[coin(1), coin(2)], [Coin(2**62, b"\x00" * 300, 2**32 - 1)], [coin(3)] * 260]


@pytest.fixture
def files(tmp_path: Path) -> UndoFiles:
    return UndoFiles(tmp_path, MAGIC)


def test_record_comes_back(files: UndoFiles) -> None:
    position = files.append(0, block_hash(1), SPENT)
    files.sync()
    assert files.read_undo(position, block_hash(1)) == SPENT
    assert files.read_spent(position, block_hash(1)) == encode_spent(SPENT)


def test_spent_bytes_by_hand() -> None:
    encoded = encode_spent([[Coin(5, b"\x51\x52", 7)], []])
    assert encoded.hex() == "030001050000000000000002515200"
    assert encode_spent([]) == GENESIS_SPENT


def test_spent_bytes_of_a_real_block(shared_path: Callable[..., Path]) -> None:
    found = sorted(shared_path("blocks").glob("*.spent.xz"))
    assert found
    for path in found:
        recorded = lzma.decompress(path.read_bytes())
        assert encode_spent(_decode_spent(recorded, [0] * 20_000)) == recorded


def test_empty_block_has_a_record(files: UndoFiles) -> None:
    position = files.append(0, block_hash(1), [])
    assert files.read_spent(position, block_hash(1)) == GENESIS_SPENT
    assert files.read_undo(position, block_hash(1)) == []


def test_records_go_to_their_block_files_number(files: UndoFiles, tmp_path: Path) -> None:
    positions = [files.append(file, block_hash(file), SPENT) for file in (0, 3, 0)]
    files.sync()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rev00000.dat", "rev00003.dat"]
    assert positions[2].offset == positions[0].end + 8
    assert files.read_undo(positions[1], block_hash(3)) == SPENT


def test_record_of_another_block_is_refused(files: UndoFiles) -> None:
    position = files.append(0, block_hash(1), SPENT)
    with pytest.raises(BlockFileError, match="checksum"):
        files.read_undo(position, block_hash(2))


@pytest.mark.parametrize("at", [8, 30, 400, -40, -33, -1])
def test_one_flipped_bit_is_found(files: UndoFiles, tmp_path: Path, at: int) -> None:
    position = files.append(0, block_hash(1), SPENT)
    path = tmp_path / "rev00000.dat"
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)
    for read in (files.read_spent, files.read_undo):
        with pytest.raises(BlockFileError, match="checksum is wrong"):
            read(position, block_hash(1))


def test_record_too_short_for_a_checksum_is_refused(files: UndoFiles, tmp_path: Path) -> None:
    (tmp_path / "rev00000.dat").write_bytes(MAGIC + b"\x03\0\0\0abc")
    with pytest.raises(BlockFileError, match="checksum is wrong"):
        files.read_spent(BlockPosition(0, 8, 3), block_hash(1))


def test_torn_tail_is_cut(files: UndoFiles, tmp_path: Path) -> None:
    last = files.append(0, block_hash(1), SPENT)
    torn = files.append(0, block_hash(2), SPENT)
    files.sync()
    os.truncate(tmp_path / "rev00000.dat", torn.end - 1)
    again = UndoFiles(tmp_path, MAGIC)
    assert again.recover({0: last}) == torn.length + 8 - 1
    assert again.append(0, block_hash(2), SPENT).offset == last.end + 8


@pytest.mark.parametrize("key", [b"", bytes(range(1, 9))])
def test_whole_records_that_the_index_does_not_know_are_kept(key: bytes, tmp_path: Path) -> None:
    if key:
        (tmp_path / "xor.dat").write_bytes(key)
    files = UndoFiles(tmp_path, MAGIC)
    last, damaged, newest = [files.append(0, block_hash(number), SPENT) for number in (1, 2, 3)]
    files.sync()
    path = tmp_path / "rev00000.dat"
    data = bytearray(path.read_bytes())
    data[damaged.offset - 8] ^= 1
    path.write_bytes(data)
    again = UndoFiles(tmp_path, MAGIC)
    assert again.recover({0: last}) == 0
    assert again.append(0, block_hash(4), SPENT).offset == newest.end + 8
    again.read_undo(newest, block_hash(3))
    cut = UndoFiles(tmp_path, MAGIC)
    assert cut.recover({0: last}, keep=False) > 0
    assert cut.append(0, block_hash(2), SPENT).offset == last.end + 8


def test_missing_file_is_an_error(files: UndoFiles, tmp_path: Path) -> None:
    position = files.append(0, block_hash(1), SPENT)
    os.unlink(tmp_path / "rev00000.dat")
    with pytest.raises(BlockFileError, match=r"rev00000\.dat: No such file"):
        files.read_spent(position, block_hash(1))


def test_outputs_that_are_encoded_already_make_the_same_record() -> None:
    spent = [[Coin(5, b"\x51" * size, 8) for size in (0, 252, 253)], [Coin(-1, b"", 3)]]
    encoded = [encode_outputs(coins) for coins in spent]
    assert encode_undo(block_hash(1), spent, encoded) == encode_undo(block_hash(1), spent)
    assert encode_spent([], []) == b"\x01\x00"
