"""What blocks do to the pool: confirmations, conflicts, and the way through reorganisations."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.lock_points import check_sequence_locks_at_tip
from clarion.node.mempool.options import MempoolLimits, MempoolOptions
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.check_queue import ScriptFailure
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, make_chain, spendable
from helpers.chain_node import ChainNode
from helpers.pool import PoolOnChain

MATURE = 100


class Scene:
    """A chain of which the first coinbases can be spent, with its pool."""

    def __init__(self, folder: Path, options: MempoolOptions | None = None) -> None:
        self.node = ChainNode(folder)
        self.base = make_chain(genesis(), MATURE + 5)
        self.node.submit(*self.base)
        self.pool = PoolOnChain(self.node, options)

    def spend(self, number: int, *, sequence: int = 0xFFFFFFFF, lock_time: int = 0, fee: int = 1000) -> Transaction:
        """Return a transaction that spends the coinbase of a block."""
        outpoint, txout = self.base[number].coinbase_output()
        half = (txout.value - fee) // 2
        return Transaction(2, [TxIn(outpoint, b"", sequence)], [TxOut(half, OP_TRUE)] * 2, lock_time)

    def child(self, parent: Transaction, index: int = 0) -> Transaction:
        """Return a transaction that spends an output of another."""
        outpoint, txout = spendable(parent, index)
        return Transaction(2, [TxIn(outpoint)], [TxOut(txout.value - 1000, OP_TRUE)])

    def offer(self, *txs: Transaction) -> None:
        """Put transactions into the pool."""
        assert all(self.pool.offer(tx) for tx in txs)

    def extend(self, prev: Built, txs: Sequence[Transaction] = (), *, count: int = 1, nonce: int = 0) -> list[Built]:
        """Submit a block with these transactions, and empty ones on top; return them."""
        blocks = [make_block(prev, txs, extra_nonce=nonce)]
        blocks += make_chain(blocks[0], count - 1, extra_nonce=nonce)
        self.node.submit(*blocks)
        return blocks

    def invalidate(self, block: Built) -> None:
        """Leave a block's chain."""
        entry = self.node.manager.lookup(block.hash)  # type: ignore[arg-type]
        assert entry is not None
        self.node.manager.invalidate_block(entry)

    def held(self) -> set[bytes]:
        """Return the txids of the pool."""
        return set(self.pool.pool.entries)

    def told(self) -> list[tuple[bytes, str]]:
        """Return what left the pool since the last question, with the reasons."""
        removed = [(tx.txid, reason) for tx, reason in self.pool.listener.removed()]
        self.pool.listener.heard.clear()
        return removed


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def txids(*txs: Transaction) -> set[bytes]:
    return {tx.txid for tx in txs}


def test_a_block_confirms_and_contradicts(scene: Scene) -> None:
    confirmed, loser = scene.spend(0), scene.spend(1)
    orphaned, stays = scene.child(loser), scene.child(confirmed)
    winner = scene.spend(1, fee=7777)
    scene.offer(confirmed, loser, orphaned, stays)
    scene.pool.pool.prioritise(confirmed.txid, 5)
    scene.pool.pool.prioritise(loser.txid, 5)
    scene.extend(scene.base[-1], [winner, confirmed])
    told = scene.told()
    assert set(told[:2]) == {(loser.txid, "conflict"), (orphaned.txid, "conflict")}
    assert told[2:] == [(confirmed.txid, "block")]
    assert scene.held() == txids(stays)
    assert not scene.pool.pool.deltas
    assert scene.pool.listener.blocks == [([confirmed], MATURE + 6)]


def test_a_reorganisation_brings_transactions_back_before_their_children(scene: Scene) -> None:
    parent = scene.spend(0)
    child, grandchild = scene.child(parent), scene.child(parent, 1)
    scene.extend(scene.base[-1], [parent, child])
    scene.offer(grandchild)
    scene.extend(scene.base[-1], count=2, nonce=1)
    pool = scene.pool.pool
    assert scene.held() == txids(parent, child, grandchild)
    assert pool.ancestors(pool.entries[grandchild.txid]) == {pool.entries[parent.txid]}
    assert [pool.entries[tx.txid].sequence for tx in (parent, child, grandchild)] == [0, 0, 1]


def test_what_the_new_branch_confirms_too_does_not_come_back(scene: Scene) -> None:
    shared, left_out = scene.spend(0), scene.spend(1)
    scene.extend(scene.base[-1], [shared, left_out])
    scene.extend(scene.base[-1], [shared], count=2, nonce=1)
    assert scene.held() == txids(left_out)


def test_what_may_not_come_back_takes_its_descendants_along(scene: Scene) -> None:
    parent = scene.spend(0)
    child, other = scene.child(parent), scene.spend(1)
    scene.extend(scene.base[-1], [parent])
    scene.offer(child, other)
    scene.pool.refused.add(parent.txid)
    scene.extend(scene.base[-1], count=2, nonce=1)
    assert scene.told() == [(child.txid, "reorg")]
    assert scene.held() == txids(other)


def test_coinbases_that_are_no_longer_mature_or_there_cannot_be_spent(scene: Scene) -> None:
    blocks = scene.extend(scene.base[-1], count=2)
    young = scene.spend(7)
    child = scene.child(young)
    scene.offer(young, child)
    scene.invalidate(blocks[1])
    assert set(scene.told()) == {(young.txid, "reorg"), (child.txid, "reorg")}


def test_lock_times_and_relative_locks_hold_again(scene: Scene) -> None:
    blocks = scene.extend(scene.base[-1], [scene.spend(2)], count=2)
    tip = blocks[-1].height
    timed = scene.spend(0, sequence=0xFFFFFFFE, lock_time=tip)
    locked = scene.spend(1, sequence=tip + 1 - 2)
    free = scene.spend(3)
    scene.offer(timed, locked, free)
    assert check_sequence_locks_at_tip(scene.node.manager.tip, scene.pool.pool.entries[locked.txid].lock_points)
    scene.invalidate(blocks[1])
    assert {txid for txid, _ in scene.told()} == txids(timed, locked)
    assert free.txid in scene.held()


def test_lock_points_are_worked_out_anew_where_their_block_has_left(scene: Scene) -> None:
    parent = scene.spend(0)
    scene.extend(scene.base[-1], [parent])
    outpoint, txout = spendable(parent, 0)
    child = Transaction(2, [TxIn(outpoint, b"", 1)], [TxOut(txout.value - 1000, OP_TRUE)])
    scene.offer(child)
    before = scene.pool.pool.entries[child.txid].lock_points
    scene.extend(scene.base[-1], [parent], count=2, nonce=1)
    after = scene.pool.pool.entries[child.txid].lock_points
    assert before.max_input_block != after.max_input_block
    assert after.height == before.height
    assert after.valid_in(scene.pool.state.active)


def test_a_deep_invalidation_brings_back_the_last_ten_blocks_only(scene: Scene) -> None:
    deep, shallow = scene.spend(0), scene.spend(1)
    first = scene.extend(scene.base[-1], [deep])
    last = scene.extend(first[0], [shallow], count=10)
    assert len(last) == 10
    scene.invalidate(first[0])
    assert scene.held() == txids(shallow)


def test_clusters_that_grow_too_large_are_trimmed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, MempoolOptions(check_ratio=1, limits=MempoolLimits(cluster_count=2)))
    parent = scene.spend(0)
    scene.extend(scene.base[-1], [parent])
    scene.offer(scene.child(parent, 0), scene.child(parent, 1))
    scene.extend(scene.base[-1], count=2, nonce=1)
    assert parent.txid in scene.held()
    assert len(scene.held()) == 2
    assert [reason for _, reason in scene.told()] == ["sizelimit"]


def test_a_pool_that_contradicts_the_chain_is_noticed(scene: Scene) -> None:
    tx = scene.spend(0)
    scene.offer(tx)
    scene.pool.pool.total_fee_sat += 1
    with pytest.raises(AssertionError):
        scene.extend(scene.base[-1])


def test_nobody_sees_the_pool_between_a_block_and_its_commit(scene: Scene) -> None:
    tx, lock = scene.spend(0), scene.pool.pool.lock
    scene.offer(tx)
    journal = scene.node.manager.journal
    seen = []

    def look() -> None:
        free = lock.acquire(blocking=False)
        seen.append(free)
        if free:
            lock.release()

    def elsewhere(seq: int = 0) -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    journal.on_commit = elsewhere
    scene.extend(scene.base[-1], [tx])
    elsewhere()
    scene.extend(scene.base[-1], count=2, nonce=1)
    elsewhere()
    assert tx.txid in scene.held()
    assert seen == [False, True, False, True]


def test_a_block_is_committed_with_what_it_confirms_before_that_leaves_the_pool(tmp_path: Path) -> None:
    scene = Scene(tmp_path, MempoolOptions(check_ratio=0))
    tx, pool = scene.spend(0), scene.pool.pool
    scene.offer(tx)
    pool.prioritise(tx.txid, 5)
    seen: list[tuple[bool, list[tuple[bytes, str]]]] = []
    scene.node.manager.journal.on_commit = lambda seq: seen.append((tx.txid in pool, scene.told()))
    scene.extend(scene.base[-1], [tx])
    assert seen == [(True, [(tx.txid, "block")])]
    assert tx.txid not in pool
    assert not pool.deltas
    assert scene.pool.listener.blocks[-1] == ([tx], MATURE + 6)


class SlowChecker:
    """Passes every block a moment later."""

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        future: Future[ScriptFailure | None] = Future()
        threading.Timer(0.1, future.set_result, [None]).start()
        return future

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None: ...


def test_in_initial_download_a_pool_with_anything_in_it_is_not_left_behind(tmp_path: Path) -> None:
    node = ChainNode(tmp_path, max_tip_age=60, checker=SlowChecker())
    base = make_chain(genesis(), MATURE + 5)
    node.submit(*base)
    follower = PoolOnChain(node)
    tx = Transaction(2, [TxIn(base[0].coinbase_output()[0])], [TxOut(5, OP_TRUE)])
    ahead = make_block(base[-1], [Transaction(2, [TxIn(base[1].coinbase_output()[0])], [TxOut(5, OP_TRUE)])])
    assert ahead.block is not None
    node.manager.process_new_block(ahead.block)
    assert follower.listener.blocks == []
    assert node.manager.settled_tip().hash == ahead.hash
    assert follower.offer(tx)
    with_it = make_block(ahead, [tx])
    assert with_it.block is not None
    node.manager.process_new_block(with_it.block)
    assert follower.listener.blocks == [([], ahead.height), ([tx], with_it.height)]
    node.manager.commit()
