"""Changes of the mempool in the event log."""

from pathlib import Path

import pytest

from clarion.node.events.events import Event, MempoolReset, TxAdded, TxRemoved
from clarion.node.events.expand import expand_row
from clarion.node.mempool.change_log import ChangeLog
from clarion.node.mempool.changes import RemovalReason
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.transaction import TxOut
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.pool import PoolFixture, make_tx, output


class Scene:
    """A pool that notes its changes in a node's log, and the events that the log holds since then."""

    def __init__(self, folder: Path) -> None:
        self.node = ChainNode(folder)
        self.node.submit(*make_chain(genesis(), 2))
        self.seen = self.node.rows()[-1].seq
        self.log = ChangeLog(self.node.manager.journal)
        self.fixture = PoolFixture()
        self.fixture.pool.observers.append(self.log)

    def events(self) -> list[Event]:
        """Commit and return the events."""
        self.node.manager.commit()
        return [event for row in self.node.rows(self.seen) for event in expand_row(row, "log")]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_added_transaction_is_told_with_all_that_is_known_of_it(scene: Scene) -> None:
    tx = make_tx()
    scene.log.reset(scene.fixture.pool.sequence)
    entry = scene.fixture.add(tx, 300, spent=[Coin(1300, b"\x51", 0)])
    reset, added = scene.events()
    assert isinstance(reset, MempoolReset)
    assert isinstance(added, TxAdded)
    assert (reset.mempool_sequence, added.mempool_sequence) == (1, 1)
    assert (added.tx.txid, added.fee_sat, added.vsize) == (tx.txid, 300, entry.vsize)
    assert added.spent == (TxOut(1300, b"\x51"),)
    assert (added.height, added.block_hash, added.id.seq) == (2, scene.node.tip, scene.seen + 2)


def test_a_replacement_is_told_before_its_successor(scene: Scene) -> None:
    old = make_tx()
    new = make_tx(old.inputs[0].prevout, padding=5)
    scene.fixture.add(old)
    scene.fixture.add(new, 5000, replaces=[old])
    _, removed, added = scene.events()
    assert isinstance(removed, TxRemoved)
    assert isinstance(added, TxAdded)
    assert (removed.txid, removed.reason, removed.replaced_by) == (old.txid, "replaced", new.txid)
    assert (removed.mempool_sequence, added.mempool_sequence) == (2, 3)


def test_what_leaves_for_a_block_is_one_row_and_what_conflicts_has_its_own(scene: Scene) -> None:
    first, second, third = make_tx(), make_tx(), make_tx()
    for tx in (first, second, third):
        scene.fixture.add(tx)
    pool = scene.fixture.pool
    confirmed = [pool.entries[first.txid], pool.entries[second.txid]]
    pool.tell_confirmed(confirmed)
    pool.remove_recursive(third, RemovalReason.CONFLICT)
    pool.remove_confirmed(confirmed, 101)
    removed = [event for event in scene.events() if isinstance(event, TxRemoved)]
    assert [(event.txid, event.reason, event.mempool_sequence) for event in removed] == [
        (first.txid, "block", 4),
        (second.txid, "block", 5),
        (third.txid, "conflict", 6),
    ]
    assert [(event.id.seq - scene.seen, event.id.index) for event in removed] == [(4, 0), (4, 1), (5, 0)]


def test_descendants_are_told_as_they_go(scene: Scene) -> None:
    parent = make_tx()
    child = make_tx(output(parent))
    scene.fixture.add(parent)
    scene.fixture.add(child)
    scene.fixture.pool.remove_recursive(parent, RemovalReason.EXPIRY)
    removed = [event.txid for event in scene.events() if isinstance(event, TxRemoved)]
    assert set(removed) == {parent.txid, child.txid}
