"""The key of a folder of block files: when one is made, and which."""

from pathlib import Path

import pytest

from clarion.node.errors import BlockFileError, ConfigError
from clarion.node.storage.xor_key import KEY_SIZE, XOR_FILE, ensure_xor_key, read_xor_key

RANDOM = bytes(range(1, KEY_SIZE + 1))


def test_a_new_folder_gets_a_random_key_only_if_it_is_wanted(tmp_path: Path) -> None:
    keys = []
    for name, wanted in (("first", True), ("second", True), ("third", False), ("fourth", None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".lock").touch()
        ensure_xor_key(tmp_path / name, wanted=wanted)
        keys.append((tmp_path / name / XOR_FILE).read_bytes())
    assert keys[2:] == [bytes(KEY_SIZE)] * 2
    assert len(set(keys)) == 3


def test_files_without_a_key_stay_plain(tmp_path: Path) -> None:
    (tmp_path / "blk00000.dat").touch()
    ensure_xor_key(tmp_path, wanted=True)
    assert (tmp_path / XOR_FILE).read_bytes() == bytes(KEY_SIZE)


@pytest.mark.parametrize("wanted", [True, None])
def test_a_key_that_is_there_stays(tmp_path: Path, wanted: bool | None) -> None:
    (tmp_path / XOR_FILE).write_bytes(RANDOM)
    ensure_xor_key(tmp_path, wanted=wanted)
    assert read_xor_key(tmp_path) == RANDOM


def test_a_key_that_is_there_can_not_be_refused(tmp_path: Path) -> None:
    (tmp_path / XOR_FILE).write_bytes(RANDOM)
    with pytest.raises(ConfigError, match=r"can not be disabled.*Stored key: '0102030405060708'"):
        ensure_xor_key(tmp_path, wanted=False)
    (tmp_path / XOR_FILE).write_bytes(bytes(KEY_SIZE))
    ensure_xor_key(tmp_path, wanted=False)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / XOR_FILE).mkdir()
    with pytest.raises(BlockFileError, match=XOR_FILE):
        ensure_xor_key(tmp_path, wanted=None)
