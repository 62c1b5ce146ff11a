"""Changes of the mempool in the event log."""

from pathlib import Path

import pytest

from clarion.node.events.events import Event, MempoolReset, TxAdded, TxRemoved
from clarion.node.events.expand import expand_row
from clarion.node.mempool.change_log import ChangeLog
from clarion.node.primitives.ids import Txid
from helpers.chain_builder import genesis, make_chain
from helpers.chain_node import ChainNode
from helpers.event_source import SPENT, make_block


class Scene:
    """A node with a log to write to, and the events that it holds since then."""

    def __init__(self, folder: Path) -> None:
        self.node = ChainNode(folder)
        self.node.submit(*make_chain(genesis(), 2))
        self.seen = self.node.rows()[-1].seq
        self.log = ChangeLog(self.node.manager.journal)

    def events(self) -> list[Event]:
        """Commit and return the events."""
        self.node.manager.commit()
        return [event for row in self.node.rows(self.seen) for event in expand_row(row, "log")]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_added_transaction_is_told_with_all_that_is_known_of_it(scene: Scene) -> None:
    (tx,) = make_block(1).txs
    scene.log.reset(1)
    scene.log.added(tx, [SPENT], fee_sat=300, vsize=141, mempool_sequence=1)
    reset, added = scene.events()
    assert isinstance(reset, MempoolReset)
    assert isinstance(added, TxAdded)
    assert (added.tx.txid, added.spent, added.fee_sat, added.vsize) == (tx.txid, (SPENT,), 300, 141)
    assert (added.height, added.block_hash, added.id.seq) == (2, scene.node.tip, scene.seen + 2)


def test_removals_carry_their_reason(scene: Scene) -> None:
    txids = [Txid(bytes([number]) * 32) for number in range(4)]
    scene.log.removed(txids[0], "replaced", 1, txids[3])
    scene.log.removed(txids[1], "block", 2)
    scene.log.removed(txids[2], "block", 3)
    events = [event for event in scene.events() if isinstance(event, TxRemoved)]
    assert [(event.txid, event.reason, event.replaced_by) for event in events] == [
        (txids[0], "replaced", txids[3]),
        (txids[1], "block", None),
        (txids[2], "block", None),
    ]
    assert [event.mempool_sequence for event in events] == [1, 2, 3]
