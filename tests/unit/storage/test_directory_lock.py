"""The lock of a data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.storage.directory_lock import lock_directory

TRY_LOCK = """
import sys, pathlib
from clarion.node.errors import ConfigError
from clarion.node.storage.directory_lock import lock_directory
try:
    lock_directory(pathlib.Path(sys.argv[1]))
except ConfigError as error:
    print(error)
else:
    print("locked")
"""


def lock_elsewhere(folder: Path) -> str:
    return subprocess.run([sys.executable, "-c", TRY_LOCK, str(folder)], capture_output=True, text=True).stdout.strip()


def test_other_process_is_refused_until_release(tmp_path: Path) -> None:
    lock = lock_directory(tmp_path)
    expected = f"Cannot obtain a lock on directory {tmp_path}. Clarion is probably already running."
    assert lock_elsewhere(tmp_path) == expected
    lock.release()
    assert lock_elsewhere(tmp_path) == "locked"


def test_same_process_is_refused_too(tmp_path: Path) -> None:
    lock = lock_directory(tmp_path)
    with pytest.raises(ConfigError, match="already running"):
        lock_directory(tmp_path)
    assert lock_elsewhere(tmp_path) != "locked"
    lock.release()
    lock.release()
    lock_directory(tmp_path).release()


def test_folder_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot write to directory '.*missing'; check permissions"):
        lock_directory(tmp_path / "missing")
    assert not os.listdir(tmp_path)


def test_of_two_directories_none_is_kept_if_one_is_taken(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    lock = lock_directory(second)
    with pytest.raises(ConfigError, match=f"Cannot obtain a lock on directory {second}"):
        lock_directory(first, second)
    assert lock_elsewhere(first) == "locked"
    lock.release()
    both = lock_directory(first, second)
    assert "already running" in lock_elsewhere(first)
    assert "already running" in lock_elsewhere(second)
    both.release()
