"""Restarts: the chain comes back, and coins that lag behind the tip or lie on another branch are brought to it."""

from pathlib import Path

from clarion.node.chain.coin_flusher import CoinFlusher
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode


def _coins(node: ChainNode) -> dict[bytes, int]:
    node.manager.journal.flush()
    return {bytes(outpoint): coin.value for outpoint, coin in node.database.coins.iterate()}


def _without_flush(node: ChainNode, *blocks: Built) -> None:
    """Commit the tip and lose the coins, as a crash between the tip commit and the flush does."""
    node.manager.journal.flush()
    begin, CoinFlusher.begin = CoinFlusher.begin, lambda self: None  # type: ignore[method-assign]
    try:
        node.submit(*blocks)
    finally:
        CoinFlusher.begin = begin  # type: ignore[method-assign]


def _spending_chain() -> list[Built]:
    chain = make_chain(genesis(), 101)
    outpoint, output = chain[0].coinbase_output()
    spend = Transaction(2, [TxIn(outpoint)], [TxOut(output.value - 1000, OP_TRUE)])
    return [*chain, make_block(chain[-1], [spend], fees=1000)]


def test_the_tip_and_its_coins_survive_a_restart(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    node.submit(*make_chain(genesis(), 5))
    tip, coins = node.tip, _coins(node)
    node.restart()
    assert node.tip == tip
    assert _coins(node) == coins
    assert len(coins) == 5


def test_coins_behind_the_tip_catch_up_without_new_events(tmp_path: Path) -> None:
    chain = _spending_chain()
    undisturbed = ChainNode(tmp_path / "a")
    undisturbed.submit(*chain)
    node = ChainNode(tmp_path / "b")
    node.submit(*chain[:50])
    _without_flush(node, *chain[50:])
    events = node.rows()
    node.restart()
    assert node.tip == chain[-1].hash
    assert _coins(node) == _coins(undisturbed)
    assert node.rows() == events


def test_coins_on_a_branch_that_was_left_go_back_to_the_fork(tmp_path: Path) -> None:
    chain = _spending_chain()
    rival = make_chain(chain[99], 4, extra_nonce=1)
    undisturbed = ChainNode(tmp_path / "a")
    undisturbed.submit(*chain, *rival)
    node = ChainNode(tmp_path / "b")
    node.submit(*chain)
    _without_flush(node, *rival)
    node.restart()
    assert node.tip == rival[-1].hash
    assert _coins(node) == _coins(undisturbed)


def test_what_was_not_committed_is_as_if_it_never_came(tmp_path: Path) -> None:
    node = ChainNode(tmp_path, max_tip_age=60)
    chain = make_chain(genesis(), 4)
    node.submit(*chain[:2])
    for built in chain[2:]:
        assert built.block is not None
        node.manager.process_new_block(built.block)
    node.restart()
    assert node.tip == chain[1].hash
    assert node.reasons(*chain[2:]) == [None, None]
    assert node.story([genesis(), *chain]) == ["+0", "=0", "+1", "=1", "+2", "=2", "+3", "=3", "+4", "=4"]


def test_a_rival_of_equal_work_does_not_win_by_a_restart(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 2)
    rivals = [make_chain(chain[0], 1, extra_nonce=nonce)[0] for nonce in range(1, 6)]
    node.submit(*chain, *rivals)
    node.restart()
    node.manager.activate_best_chain()
    assert node.tip == chain[1].hash


def test_a_block_whose_parent_comes_later_is_connected_then(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 3)
    assert chain[0].block is not None
    assert chain[1].block is not None
    node.manager.process_new_headers([chain[0].block.header, chain[1].block.header])
    node.submit(chain[2], chain[1])
    node.restart()
    node.submit(chain[0])
    assert node.tip == chain[2].hash
