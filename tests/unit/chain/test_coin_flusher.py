"""Flushes beside the chain thread: one at a time, bounded memory, waited for where it matters, failures noticed."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from clarion.node.chain import coin_flusher
from clarion.node.chain.coins_cache import ENTRY_BYTES
from clarion.node.chain.service import ChainService
from clarion.node.errors import StorageError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint
from helpers.chain_builder import Built, genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.event_source import wait_until


class HeldStore:
    """Stands before the coin store: holds flushes back until the test lets them go, or makes them fail."""

    def __init__(self, node: ChainNode) -> None:
        self.go = threading.Event()
        self.begun: list[BlockHash] = []
        self.error: Exception | None = None
        self._flush = node.stores.coins.flush

    def flush(self, changes: Mapping[OutPoint, Coin | None], tip: BlockHash) -> None:
        self.begun.append(tip)
        assert self.go.wait(10)
        if self.error is not None:
            raise self.error
        self._flush(changes, tip)


class Scene:
    """A node that has left initial download, whose store holds flushes back."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node = ChainNode(folder)
        self.store = HeldStore(self.node)
        monkeypatch.setattr(self.node.stores.coins, "flush", self.store.flush)
        self.journal = self.node.manager.journal
        self.base = make_chain(genesis(), 4)

    def submit(self, *blocks: Built) -> None:
        """Submit the first, begin to flush its coins, and submit the others meanwhile."""
        self.node.submit(blocks[0])
        self.journal.flusher.begin()
        self.node.submit(*blocks[1:])

    def stored(self) -> dict[OutPoint, Coin]:
        return dict(self.node.database.coins.iterate())

    def limit(self, entries: int) -> None:
        """Let the cache be full with so many coins."""
        object.__setattr__(self.node.manager.state.options, "cache_bytes", entries * ENTRY_BYTES)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene(tmp_path, monkeypatch)
    yield scene
    scene.store.go.set()
    scene.store.error = None


def coinbase_coins(*blocks: Built) -> set[OutPoint]:
    return {built.coinbase_output()[0] for built in blocks}


def test_the_chain_goes_on_while_coins_are_written(scene: Scene) -> None:
    scene.submit(*scene.base)
    assert scene.store.begun == [scene.base[0].hash]
    assert scene.node.tip == scene.base[-1].hash
    coins = scene.node.manager.state.coins
    assert coins.existing(coinbase_coins(*scene.base)) == coinbase_coins(*scene.base)
    scene.store.go.set()
    scene.journal.flush()
    assert scene.store.begun == [scene.base[0].hash, scene.base[-1].hash]
    assert scene.node.database.coins.tip() == scene.base[-1].hash
    assert scene.stored().keys() == coinbase_coins(*scene.base)
    assert coins.size_bytes == 0


def test_a_block_leaves_while_its_coins_are_written(scene: Scene) -> None:
    scene.node.submit(*scene.base)
    scene.journal.flusher.begin()
    branch = make_chain(scene.base[0], 4, extra_nonce=5)
    scene.node.submit(*branch)
    assert scene.node.tip == branch[-1].hash
    gone = coinbase_coins(*scene.base[1:])
    assert not scene.node.manager.state.coins.existing(gone)
    scene.store.go.set()
    scene.journal.flush()
    assert scene.stored().keys() == coinbase_coins(scene.base[0], *branch)


def test_a_crash_after_a_flush_of_coins_that_the_chain_has_left(scene: Scene) -> None:
    scene.node.submit(*scene.base)
    scene.store.go.set()
    scene.journal.flush()
    scene.store.go.clear()
    branch = make_chain(scene.base[0], 4, extra_nonce=5)
    scene.node.submit(*branch)
    scene.journal.flusher.begin()
    assert scene.node.database.coins.tip() == scene.base[-1].hash
    scene.store.go.set()
    scene.journal.flusher.wait()
    scene.node.restart()
    assert scene.node.tip == branch[-1].hash
    assert scene.stored().keys() == coinbase_coins(scene.base[0], *branch)


def test_a_full_cache_waits_for_the_flush_under_way(scene: Scene) -> None:
    scene.submit(scene.base[0])
    scene.limit(3)
    flusher = scene.journal.flusher
    scene.node.submit(*scene.base[1:3])
    assert not flusher.due
    release = threading.Timer(0.1, scene.store.go.set)
    release.start()
    scene.node.submit(scene.base[3])
    # The fourth coin was one too many: the first flush is over, and the next has begun.
    assert scene.store.begun == [scene.base[0].hash, scene.base[3].hash]
    scene.journal.flush()
    assert scene.node.manager.state.coins.size_bytes == 0


def test_in_initial_download_half_a_cache_of_coins_is_flushed(tmp_path: Path) -> None:
    node = ChainNode(tmp_path, max_tip_age=60)
    object.__setattr__(node.manager.state.options, "cache_bytes", 6 * ENTRY_BYTES)
    flusher = node.manager.journal.flusher
    due = []
    for built in make_chain(genesis(), 5):
        node.manager.commit()
        assert built.block is not None
        node.manager.process_new_block(built.block)
        due.append(flusher.due)
    # The fourth coin was one too many; the commit that came with it began a flush.
    assert due == [False] * 5
    flusher.wait()
    height = {built.hash: at for at, built in enumerate(make_chain(genesis(), 5), 1)}
    assert height[node.database.coins.tip() or b""] == 4


def test_whoever_hears_of_a_commit_may_flush_its_coins(scene: Scene) -> None:
    scene.store.go.set()
    scene.journal.on_commit = lambda seq: scene.journal.flush()
    for built in scene.base:
        scene.journal.flush()
        scene.node.submit(built)
        assert scene.node.database.coins.tip() == built.hash


def test_a_flush_waits_for_a_quiet_moment_but_not_for_long(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.node.submit(*scene.base[:2])
    assert scene.store.begun == []
    assert scene.journal.flusher.patience_s == coin_flusher.QUIET_S
    monkeypatch.setattr(coin_flusher, "LATE_S", 0.0)
    assert scene.journal.flusher.patience_s == 0
    scene.node.submit(scene.base[2])
    assert scene.store.begun == [scene.base[2].hash]


def test_a_failed_flush_is_told_at_the_next_late_commit(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.store.error = StorageError("coins: disk full")
    scene.store.go.set()
    scene.submit(scene.base[0])
    with pytest.raises(StorageError, match="disk full"):
        scene.journal.flush()
    monkeypatch.setattr(coin_flusher, "LATE_S", 0.0)
    with pytest.raises(StorageError, match="disk full"):
        scene.node.submit(scene.base[1])


def test_a_failed_flush_stops_an_idle_chain(scene: Scene) -> None:
    errors: list[BaseException] = []
    service = ChainService(scene.node.manager, errors.append)
    service.start()
    scene.store.error = StorageError("coins: disk full")
    block = scene.base[0].block
    assert block is not None
    service.submit(scene.node.manager.process_new_block, block).result(10)
    assert errors == []
    scene.store.go.set()
    wait_until(lambda: len(errors) == 1, 5)
    assert str(errors[0]) == "coins: disk full"
    with pytest.raises(StorageError, match="the chain has stopped"):
        service.submit(lambda: None).result(10)
    service.stop()


def test_stopping_waits_for_the_flush(scene: Scene) -> None:
    service = ChainService(scene.node.manager, lambda error: None)
    service.start()
    for built in scene.base:
        assert built.block is not None
        service.submit(scene.node.manager.process_new_block, built.block).result(10)
    release = threading.Timer(0.1, scene.store.go.set)
    release.start()
    service.stop()
    assert scene.node.database.coins.tip() == scene.base[-1].hash
    assert scene.stored().keys() == coinbase_coins(*scene.base)
