"""Transactions of disconnected blocks: their order, and which of them there is room for."""

from clarion.node.mempool.disconnected import DisconnectedTransactions
from clarion.node.mempool.memory_usage import HASH_NODE, LIST_NODE, malloc_usage, transaction_usage
from clarion.node.primitives.block import Block
from clarion.node.primitives.transaction import Transaction
from helpers.chain_builder import genesis, make_block
from helpers.pool import make_tx, output


def block_of(*txs: Transaction, nonce: int = 0) -> Block:
    block = make_block(genesis(), txs, extra_nonce=nonce).block
    assert block is not None
    return block


def test_they_come_back_in_the_order_in_which_they_were_confirmed() -> None:
    parent = make_tx()
    below, above = block_of(parent), block_of(make_tx(output(parent)), make_tx(), nonce=1)
    kept = DisconnectedTransactions()
    assert kept.add_block(above) == kept.add_block(below) == []
    assert kept.take() == [*below.txs, *above.txs]
    assert len(kept) == 0


def test_what_is_confirmed_again_is_forgotten() -> None:
    stays, goes = make_tx(), make_tx()
    block = block_of(stays, goes)
    kept = DisconnectedTransactions()
    kept.add_block(block)
    full = kept.usage_bytes
    kept.remove_confirmed([goes, make_tx()])
    assert kept.usage_bytes < full
    assert kept.take() == [block.txs[0], stays]


def test_where_there_are_too_many_the_most_recent_go() -> None:
    block = block_of(*(make_tx(padding=100) for _ in range(5)))
    each = transaction_usage(block.txs[1]) + LIST_NODE + HASH_NODE
    kept = DisconnectedTransactions(3 * each + transaction_usage(block.txs[0]) + LIST_NODE + HASH_NODE + 64)
    assert malloc_usage(8 * 4) == 48
    assert kept.add_block(block) == [block.txs[5], block.txs[4]]
    assert kept.take() == list(block.txs[:4])
