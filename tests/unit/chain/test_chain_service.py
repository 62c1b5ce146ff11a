"""When jobs are answered and when what they did is committed."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain import service as service_module
from clarion.node.chain.service import ChainService
from clarion.node.events.row import EventKind
from clarion.node.primitives.ids import Txid
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.event_source import wait_until


class Scene:
    """A chain thread, and the log as far as it is durable."""

    def __init__(self, folder: Path) -> None:
        self.node = ChainNode(folder)
        self.seen = len(self.node.rows())
        self.service = ChainService(self.node.manager, on_fatal=lambda error: None)
        self.service.start()
        self.added = 0

    def add(self) -> int:
        """Change the mempool alone. Runs on the chain thread."""
        self.added += 1
        return self.node.manager.journal.pool_row(EventKind.TX_ADDED, b"", txid=Txid(bytes(32)))

    def durable(self) -> int:
        """Return how many rows are in the log since the start."""
        return len(self.node.rows(self.seen))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.service.stop()


def test_jobs_that_changed_only_the_mempool_are_answered_before_the_commit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "POOL_QUIET_S", 60.0)
    monkeypatch.setattr("clarion.node.chain.journal.POOL_COMMIT_S", 60.0)
    assert scene.service.submit(scene.add).result(10) == scene.seen + 1
    assert scene.durable() == 0
    (built,) = make_chain(genesis(), 1)
    assert built.block is not None
    scene.service.submit(scene.node.manager.process_new_block, built.block).result(10)
    # What changes the chain is answered once it is durable, and with it all that came before.
    assert [row.kind for row in scene.node.rows(scene.seen)] == [
        EventKind.TX_ADDED,
        EventKind.BLOCK_CONNECTED,
        EventKind.TIP_CHANGED,
    ]


def test_rows_of_the_mempool_are_committed_when_the_thread_has_nothing_to_do(scene: Scene) -> None:
    scene.service.submit(scene.add).result(10)
    wait_until(lambda: scene.durable() == 1, 2)


def test_a_burst_is_committed_in_groups(scene: Scene) -> None:
    commits: list[int] = []
    scene.node.manager.journal.on_commit = commits.append
    for future in [scene.service.submit(scene.add) for _ in range(500)]:
        future.result(10)
    wait_until(lambda: scene.durable() == 500, 2)
    assert commits[-1] == scene.seen + 500
    assert len(commits) < 250


def test_a_stream_that_never_pauses_is_committed_all_the_same(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "POOL_QUIET_S", 60.0)
    stop = threading.Event()

    def stream() -> None:
        while not stop.is_set():
            scene.service.submit(scene.add).result(10)
            time.sleep(0.001)

    thread = threading.Thread(target=stream)
    thread.start()
    wait_until(lambda: scene.durable() > 0, 5)
    stop.set()
    thread.join()


def test_stopping_commits_what_waits(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "POOL_QUIET_S", 60.0)
    monkeypatch.setattr("clarion.node.chain.journal.POOL_COMMIT_S", 60.0)
    scene.service.submit(scene.add).result(10)
    scene.service.stop()
    assert scene.durable() == 1
