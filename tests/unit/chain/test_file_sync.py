"""Files are made durable beside the chain thread, and never less than a commit needs."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.chain.file_sync import FileSync
from clarion.node.errors import StorageError
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.event_source import wait_until

BLOCKS = make_chain(genesis(), 2)


class Disk:
    """Counts what is synced, on which thread, and lets the test hold a sync back or fail it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.go.set()
        self.error: OSError | None = None
        self.threads: list[str] = []
        self._sync: Callable[[int], None] = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self.fdatasync)

    def fdatasync(self, fd: int) -> None:
        self.threads.append(threading.current_thread().name)
        assert self.go.wait(10)
        if self.error is not None:
            raise self.error
        self._sync(fd)


@pytest.fixture
def node(tmp_path: Path) -> ChainNode:
    node = ChainNode(tmp_path)
    node.submit(BLOCKS[0])
    return node


@pytest.fixture
def disk(node: ChainNode, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_the_end_finds_nothing_left_of_what_was_begun(node: ChainNode, disk: Disk) -> None:
    files = FileSync(node.stores)
    node.stores.block_files.append(b"block")
    files.begin()
    wait_until(lambda: len(disk.threads) == 1)
    files.finish()
    assert disk.threads == ["filesync"]


def test_what_is_appended_while_a_sync_is_under_way_is_synced_too(node: ChainNode, disk: Disk) -> None:
    files = FileSync(node.stores)
    disk.go.clear()
    node.stores.block_files.append(b"block")
    files.begin()
    wait_until(lambda: len(disk.threads) == 1)
    node.stores.block_files.append(b"another")
    files.begin()
    disk.go.set()
    files.finish()
    assert disk.threads == ["filesync", threading.current_thread().name]


def test_a_failed_sync_is_told_before_anything_is_committed(node: ChainNode, disk: Disk) -> None:
    files = FileSync(node.stores)
    disk.error = OSError(28, "No space left on device")
    node.stores.block_files.append(b"block")
    files.begin()
    for _ in range(2):
        # The system may have dropped the data: that must not look better at the next try.
        with pytest.raises(StorageError, match="No space left on device"):
            files.finish()


def test_a_large_block_is_synced_while_it_is_connected(
    node: ChainNode, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarion.node.chain.connector.SYNC_BESIDE_BYTES", 1)
    node.submit(BLOCKS[1])
    assert "filesync" in disk.threads
    assert node.manager.tip.height == 2
