"""One order for the rows of the chain and of the mempool, their numbers, and what may be told before it is durable."""

from pathlib import Path

import pytest

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.journal import Journal
from clarion.node.events.mempool_rows import read_removed
from clarion.node.events.row import EventKind, EventRow
from clarion.node.primitives.ids import Txid
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode

C, D, TIP = EventKind.BLOCK_CONNECTED, EventKind.BLOCK_DISCONNECTED, EventKind.TIP_CHANGED
ADDED, REMOVED = EventKind.TX_ADDED, EventKind.TX_REMOVED
FIRST, SECOND = Txid(b"\x01" * 32), Txid(b"\x02" * 32)


class Scene:
    """A node at height 2 whose journal the test drives by hand."""

    def __init__(self, folder: Path) -> None:
        self.node = ChainNode(folder)
        self.node.submit(*make_chain(genesis(), 2))
        self.journal: Journal = self.node.manager.journal
        self.seen = self.journal.last_seq
        self.early: list[EventRow] = []
        self.journal.on_early = self.early.extend

    def entry(self, height: int) -> BlockIndexEntry:
        """Return a block of the active chain."""
        entry = self.node.manager.state.active.at(height)
        assert entry is not None
        return entry

    def add(self, txid: Txid = FIRST) -> int:
        """Note a transaction that entered."""
        return self.journal.pool_row(ADDED, b"body", txid=txid)

    def kinds(self) -> list[EventKind]:
        """Commit, and return the kinds of the rows that were logged since the start."""
        self.journal.commit()
        return [row.kind for row in self.node.rows(self.seen)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_connected_blocks_are_logged_behind_what_their_step_did_to_the_mempool(scene: Scene) -> None:
    scene.journal.disconnected(scene.entry(2))
    scene.journal.connected(scene.entry(2))
    scene.journal.pool_row(REMOVED, b"", txid=FIRST, reason="conflict")
    scene.add(SECOND)
    scene.journal.end_step()
    scene.journal.tip_changed(scene.entry(1))
    assert scene.kinds() == [D, REMOVED, ADDED, C, TIP]
    assert [row.height for row in scene.node.rows(scene.seen)] == [2, 1, 1, 2, 2]


def test_numbers_are_known_at_once_and_are_those_of_the_log(scene: Scene) -> None:
    numbers = [scene.add(FIRST), scene.add(SECOND)]
    scene.journal.tell_early()
    assert numbers == [scene.seen + 1, scene.seen + 2] == [row.seq for row in scene.early]
    assert scene.node.rows(scene.seen) == []
    scene.journal.commit()
    assert scene.node.rows(scene.seen) == scene.early
    assert scene.add() == scene.journal.last_seq == scene.seen + 3


def test_rows_behind_an_uncommitted_block_are_not_early(scene: Scene) -> None:
    scene.journal.disconnected(scene.entry(2))
    scene.add()
    scene.journal.connected(scene.entry(2))
    scene.journal.end_step()
    scene.journal.tell_early()
    assert scene.early == []
    scene.journal.commit()
    number = scene.add()
    scene.journal.tell_early()
    assert [row.seq for row in scene.early] == [number]


def test_rewinding_leaves_the_rows_of_the_mempool_and_gives_the_numbers_of_blocks_again(scene: Scene) -> None:
    scene.add()
    mark = scene.journal.mark()
    scene.journal.disconnected(scene.entry(2))
    scene.journal.connected(scene.entry(2))
    scene.journal.rewind(mark)
    assert not scene.journal.chain_pending
    assert scene.add(SECOND) == scene.seen + 2
    scene.journal.tell_early()
    assert scene.kinds() == [ADDED, ADDED]
    assert [row.height for row in scene.early] == [2, 2]


def test_changes_of_the_mempool_are_never_taken_back(scene: Scene) -> None:
    mark = scene.journal.mark()
    scene.journal.disconnected(scene.entry(2))
    scene.add()
    with pytest.raises(AssertionError, match="mempool has changed"):
        scene.journal.rewind(mark)


def test_what_a_block_takes_out_is_one_row_until_something_else_happens(scene: Scene) -> None:
    third = Txid(b"\x03" * 32)
    scene.journal.connected(scene.entry(2))
    scene.journal.confirmed([(FIRST, 7)])
    scene.journal.confirmed([(SECOND, 8)])
    scene.journal.pool_row(REMOVED, b"", txid=third, reason="conflict")
    scene.journal.confirmed([(third, 10)])
    scene.journal.end_step()
    assert scene.kinds() == [REMOVED, REMOVED, REMOVED, C]
    rows = scene.node.rows(scene.seen)
    assert [row.reason for row in rows[:3]] == ["block", "conflict", "block"]
    assert [(each.txid, each.mempool_sequence) for each in read_removed(None, rows[0].body)] == [
        (FIRST, 7),
        (SECOND, 8),
    ]


def test_rows_of_the_mempool_alone_are_committed_without_the_chain_lock(scene: Scene) -> None:
    scene.add()
    lock = scene.node.manager.state.lock
    held: list[bool] = []
    commit = scene.journal._stores.chain.commit
    scene.node.stores.chain.commit = lambda change: (held.append(lock.held), commit(change))[1]  # type: ignore[method-assign]
    scene.journal.commit()
    scene.journal.disconnected(scene.entry(2))
    scene.journal.commit()
    assert held == [False, True]


def test_rows_of_the_mempool_wait_for_company_only_so_long(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scene.journal.pool_patience_s is None
    scene.add()
    patience_s = scene.journal.pool_patience_s
    assert patience_s is not None
    assert 0 <= patience_s <= 0.05
    monkeypatch.setattr("clarion.node.chain.journal.POOL_COMMIT_S", 0.0)
    assert scene.journal.due
    scene.journal.commit()
    assert not scene.journal.due
