"""Chains that start from a snapshot: what is told, what can't be undone, and where the history leads."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from clarion.node.chain.audit import Audit
from clarion.node.chain.snapshot.background import Background
from clarion.node.chain.snapshot.loading import hash_coins
from clarion.node.errors import SnapshotError, StorageError
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.params.model import AssumeUtxo
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.coin_store import coin_key
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode

BASE = 102


def _chain(*, steals: bool = False) -> list[Built]:
    """Blocks 1 to 106, of which 102 spends; with `steals` it takes more than there is."""
    chain = make_chain(genesis(), BASE - 1)
    outpoint, output = chain[0].coinbase_output()
    spend = Transaction(2, [TxIn(outpoint)], [TxOut(output.value - 1000, OP_TRUE)])
    block = make_block(chain[-1], [spend], fees=50_000 if steals else 1000)
    return [*chain, block, *make_chain(block, 4)]


class Snapshot:
    """The coins of block 102 and a regtest that knows their hash."""

    def __init__(self, folder: Path, chain: Sequence[Built]) -> None:
        node = ChainNode(folder)
        node.submit(*chain[:BASE])
        node.manager.journal.flush()
        self.base = chain[BASE - 1]
        with node.database.coins.snapshot() as view:
            self.rows: list[CoinRow] = list(view.rows())
        known = AssumeUtxo(
            height=BASE,
            hash_serialized=hash_coins(node.database.coins, lambda: False),
            chain_tx_count=BASE + 2,
            block_hash=self.base.hash,
        )
        self.params: ChainParams = replace(select_params("regtest"), assume_utxo=(known,))
        node.close()

    def activate(self, node: ChainNode, headers: Sequence[Built]) -> Background:
        """Make the coins those of the node's tip; return the chain below."""
        node.manager.process_new_headers([built.block.header for built in headers if built.block is not None])
        store = node.database.snapshot.create()
        store.load(self.rows)
        store.end_load(self.base.hash)
        base = node.manager.snapshots.find_base(self.base.hash, 0)
        node.manager.snapshots.activate(base, store, b"12345678")
        return _background(node)


def _background(node: ChainNode) -> Background:
    found = node.manager.snapshots.background
    assert found is not None
    return found


def _validate(node: ChainNode, blocks: Sequence[Built]) -> None:
    """Let the history's thread have its way, without the thread."""
    background = _background(node)
    while background.off_path() is not None:
        background.step_back()
    for built in blocks:
        entry = background.following(background.tip)
        if entry is not None and built.block is not None and entry.hash == built.hash:
            background.connect(entry, built.block)
    tip = background.settle()
    node.manager.commit()
    if tip is not None:
        node.manager.snapshots.validated_to(tip)
    changes = background.begin_flush()
    if changes is not None:
        background.store.flush(changes, background.tip.hash)
        background.end_flush()


@pytest.fixture
def chain() -> list[Built]:
    """A chain whose block 102 a snapshot is of."""
    return _chain()


@pytest.fixture
def snapshot(tmp_path: Path, chain: list[Built]) -> Snapshot:
    """The snapshot."""
    return Snapshot(tmp_path / "source", chain)


def _problems(node: ChainNode) -> list[str]:
    node.manager.commit()
    node.manager.journal.flush()
    with ChainReader(node.url, node.folder, node.params) as reader:
        return Audit(reader, node.params).run()


def test_the_history_is_silent(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    node.submit(*chain[:10])
    before = len(node.rows())
    snapshot.activate(node, chain)
    assert node.story(chain, before) == [f"={BASE - 1}"]
    node.submit(*chain[BASE:])
    told = node.story(chain, before)
    assert told == [f"={BASE - 1}", *(f"{sign}{number}" for number in range(BASE, len(chain)) for sign in "+=")]
    assert _problems(node) == []
    node.submit(*chain[10:BASE])
    _validate(node, chain[10:BASE])
    assert _background(node).reached
    assert node.manager.validated_tip.height == BASE
    node.manager.snapshots.complete()
    assert node.manager.validated_tip is node.manager.tip
    assert node.story(chain, before) == told
    assert _problems(node) == []


def test_it_goes_on_after_a_restart(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    snapshot.activate(node, chain)
    node.submit(*chain[BASE:])
    for start in (0, 40, 80):
        node.submit(*chain[start : min(start + 40, BASE)])
        _validate(node, chain[start : start + 40])
        height = node.manager.validated_tip.height
        node.restart()
        assert node.tip == chain[-1].hash
        assert node.manager.validated_tip.height == height
    assert _background(node).reached
    assert _background(node).store.count() == len(snapshot.rows)


def test_blocks_of_the_history_in_any_order(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    snapshot.activate(node, chain)
    node.submit(*reversed(chain[50:]))
    assert node.tip == chain[-1].hash
    node.restart()
    node.submit(*chain[:50])
    _validate(node, chain)
    assert _background(node).reached
    assert _problems(node) == []


def test_what_the_snapshot_rests_on_is_not_undone(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    background = snapshot.activate(node, chain[:BASE])
    for height in (BASE, 7):
        entry = background.base.ancestor(height)
        assert entry is not None
        with pytest.raises(SnapshotError, match="still being validated"):
            node.manager.invalidate_block(entry)
    rival = make_chain(chain[BASE - 3], 20, extra_nonce=1)
    node.submit(*chain[:BASE], *rival)
    assert node.tip == chain[BASE - 1].hash
    entry = node.manager.lookup(rival[-1].hash)
    assert entry is not None
    node.manager.precious_block(entry)
    assert node.tip == chain[BASE - 1].hash
    _validate(node, chain)
    assert node.tip == chain[BASE - 1].hash
    node.manager.snapshots.complete()
    assert node.tip == rival[-1].hash


def test_a_chain_beside_the_snapshot_s_is_left(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    rival = make_chain(chain[49], 30, extra_nonce=1)
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    node.submit(*chain[:50], *rival)
    before = len(node.rows())
    snapshot.activate(node, chain)
    story = node.story([*chain, *rival], before)
    assert story == [*(f"-{len(chain) + number}" for number in reversed(range(30))), f"={BASE - 1}"]
    node.submit(*chain[50:70])
    assert _background(node).off_path() is None
    assert node.manager.validated_tip.hash == rival[-1].hash
    node.submit(*chain[70:BASE])
    _validate(node, chain[50:BASE])
    assert _background(node).reached
    assert _background(node).store.count() == len(snapshot.rows)
    assert _problems(node) == []


def test_a_history_with_an_invalid_block_ends_the_snapshot(tmp_path: Path) -> None:
    """As if the parameters named coins of a chain that breaks the rules."""
    bad = _chain(steals=True)
    good = Snapshot(tmp_path / "source", _chain())
    known = replace(good.params.assume_utxo[0], block_hash=bad[BASE - 1].hash)
    good.base, good.params = bad[BASE - 1], replace(good.params, assume_utxo=(known,))
    node = ChainNode(tmp_path / "node", params=good.params)
    good.activate(node, bad)
    node.submit(*bad[BASE:])
    assert node.tip == bad[-1].hash
    before = len(node.rows())
    node.submit(*bad[:BASE])
    _validate(node, bad[: BASE - 1])
    _validate(node, bad[BASE - 1 : BASE])
    failure = _background(node).failure
    assert failure is not None
    assert failure.reject_reason == "bad-cb-amount"
    with pytest.raises(StorageError, match="The snapshot at height 102 is wrong: because"):
        node.manager.snapshots.give_up("because")
    assert node.story(bad, before) == [*(f"-{number}" for number in reversed(range(BASE, len(bad)))), f"={BASE - 2}"]
    node.restart()
    assert node.tip == bad[BASE - 2].hash
    assert node.database.snapshot_record() is None
    assert not node.database.snapshot.exists
    node.manager.activate_best_chain()
    assert node.tip == bad[BASE - 2].hash
    rival = make_chain(bad[BASE - 2], 3, extra_nonce=1)
    node.submit(*rival)
    assert node.tip == rival[-1].hash
    assert _problems(node) == []


def test_a_killed_load_leaves_nothing(tmp_path: Path, snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    node.database.snapshot.create().load(snapshot.rows)
    node.restart()
    assert node.manager.snapshots.record is None
    assert not node.database.snapshot.exists
    assert node.manager.get_coin(OutPoint(bytes(36)))[0] is None


def test_only_one_snapshot(tmp_path: Path, chain: list[Built], snapshot: Snapshot) -> None:
    node = ChainNode(tmp_path / "node", params=snapshot.params)
    with pytest.raises(SnapshotError, match="must appear in the headers chain"):
        node.manager.snapshots.find_base(snapshot.base.hash, 0)
    snapshot.activate(node, chain)
    outpoint = chain[BASE - 2].coinbase_output()[0]
    assert coin_key(outpoint) in {row[0] for row in snapshot.rows}
    assert node.manager.get_coin(outpoint)[0] is not None
    with pytest.raises(SnapshotError, match="more than once"):
        node.manager.snapshots.find_base(snapshot.base.hash, 0)
