"""Transactions of the pool by script."""

import pytest

from clarion.node.mempool.changes import RemovalReason
from clarion.node.mempool.script_pool import ScriptPool
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.pool import PoolFixture, coin, output

MINE, OTHER = b"\x51", b"\x52"
HASH = sha256(MINE)


class Scene(PoolFixture):
    """A pool that is watched by script."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = ScriptPool(self.pool)

    def spend(self, outpoint: OutPoint, spent: bytes, *paid: bytes) -> Transaction:
        """Put in a transaction that spends 900 of one script and pays 100 to each of others."""
        tx = Transaction(2, [TxIn(outpoint)], [TxOut(100, script) for script in paid])
        self.add(tx, spent=[Coin(900, spent, 0)])
        return tx


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_transactions_that_pay_or_spend_a_script(scene: Scene) -> None:
    paying = scene.spend(coin(), OTHER, MINE, OTHER, MINE)
    both = scene.spend(output(paying), MINE, MINE)
    scene.spend(coin(), OTHER, OTHER)
    first, second = scene.scripts.transfers(HASH)
    assert (first.txid, first.received, first.sent) == (paying.txid, 200, 0)
    assert (first.made, first.spent, first.has_pool_parents) == ([(0, 100), (2, 100)], [], False)
    assert (second.txid, second.received, second.sent) == (both.txid, 100, 900)
    assert (second.made, second.spent, second.has_pool_parents) == ([(0, 100)], [output(paying)], True)


def test_what_leaves_is_forgotten(scene: Scene) -> None:
    paying = scene.spend(coin(), OTHER, MINE)
    other = scene.spend(coin(), MINE, OTHER)
    scene.pool.remove_recursive(paying, RemovalReason.CONFLICT)
    assert [each.txid for each in scene.scripts.transfers(HASH)] == [other.txid]
    scene.pool.remove_recursive(other, RemovalReason.EXPIRY)
    assert scene.scripts.transfers(HASH) == []
    assert scene.scripts.transfers(sha256(OTHER)) == []


def test_one_that_is_evicted_before_it_was_told_is_no_fault(scene: Scene) -> None:
    tx = Transaction(2, [TxIn(coin())], [TxOut(100, MINE)])
    tell, scene.pool.tell_added = scene.pool.tell_added, lambda *_, **__: None  # type: ignore[method-assign]
    scene.add(tx, spent=[Coin(900, OTHER, 0)])
    scene.pool.remove_recursive(tx, RemovalReason.SIZELIMIT)
    scene.pool.tell_added = tell  # type: ignore[method-assign]
    assert scene.scripts.transfers(HASH) == []
