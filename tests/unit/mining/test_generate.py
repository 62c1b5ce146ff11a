"""Mining at once on a real chain: hashes, tries, and the errors that clients see."""

from itertools import count

import pytest

from clarion.node.chain.clock import Clock
from clarion.node.errors import BlockInvalid, RpcError
from clarion.node.mining.generate import STRETCH_BLOCKS, find_nonce, generate_block, generate_to_script
from clarion.node.mining.miner import Miner
from clarion.node.mining.options import MiningOptions
from clarion.node.mining.template import build_block
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

OP_TRUE = b"\x51"
NOW = 1_700_000_000


def test_blocks_are_mined_and_connected(miner: Miner) -> None:
    hashes = generate_to_script(miner, OP_TRUE, 3)
    tip = miner.chain.manager.tip
    assert tip.height == 3
    assert hashes[-1] == tip.hash
    assert tip.prev is not None
    assert hashes[1] == tip.prev.hash


def test_most_of_many_blocks_are_committed_together(miner: Miner) -> None:
    commits: list[int] = []
    miner.chain.manager.journal.on_commit = commits.append
    hashes = generate_to_script(miner, OP_TRUE, 3 * STRETCH_BLOCKS)
    tip = miner.chain.manager.tip
    assert (tip.height, tip.hash) == (len(hashes), hashes[-1]) == (3 * STRETCH_BLOCKS, hashes[-1])
    # Two stretches, and the last ones one by one, as few blocks are.
    assert len(commits) <= 2 + STRETCH_BLOCKS


def test_tries_are_for_all_blocks_together(miner: Miner) -> None:
    hashes = generate_to_script(miner, OP_TRUE, 100, 20)
    assert 0 < len(hashes) < 100
    assert miner.chain.manager.tip.height == len(hashes)
    assert generate_to_script(miner, OP_TRUE, 1, 0) == []
    assert generate_to_script(miner, OP_TRUE, 0) == []


def test_generate_block_does_not_claim_fees(miner: Miner) -> None:
    generate_to_script(miner, OP_TRUE, 101)
    first = miner.chain.manager.tip.ancestor(1)
    assert first is not None
    block = generate_block(miner, OP_TRUE, [], submit=False)
    assert block is not None
    assert miner.chain.manager.tip.height == 101
    assert block.txs[0].outputs[0].value == 50_00000000
    mined = generate_block(miner, OP_TRUE, [], submit=True)
    assert mined is not None
    assert miner.chain.manager.tip.hash == mined.hash


def test_invalid_transactions_are_refused_in_the_reference_words(miner: Miner) -> None:
    tx = Transaction(2, [TxIn(OutPoint(b"\x09" * 36))], [TxOut(1, OP_TRUE)])
    with pytest.raises(BlockInvalid) as caught:
        generate_block(miner, OP_TRUE, [tx])
    assert str(caught.value) == (
        "bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent in transaction " + tx.txid[::-1].hex()
    )
    assert miner.chain.manager.tip.height == 0


def test_time_too_far_ahead_is_an_rpc_error(miner: Miner) -> None:
    chain, pool = miner.chain, miner.pool
    generate_to_script(Miner(chain, pool, Clock(NOW + 7000), MiningOptions()), OP_TRUE, 12)
    chain.manager.state.clock.set_mock(1_600_000_000)
    with pytest.raises(RpcError) as caught:
        generate_to_script(Miner(chain, pool, Clock(1_000_000_000), MiningOptions()), OP_TRUE, 1)
    assert caught.value.code == -1
    assert caught.value.message.startswith("TestBlockValidity failed: time-too-new")


def test_block_version(miner: Miner) -> None:
    generate_to_script(Miner(miner.chain, miner.pool, miner.clock, MiningOptions(version=0x30000000)), OP_TRUE, 1)
    assert miner.chain.manager.tip.version == 0x30000000


def test_a_node_that_stops_mines_no_more(miner: Miner) -> None:
    asked = count()
    miner.stopping = lambda: next(asked) >= 4
    assert len(generate_to_script(miner, OP_TRUE, 100)) < 3


def test_hard_target_uses_up_the_tries(miner: Miner) -> None:
    main = select_params("main")
    tip = miner.chain.manager.tip
    block = build_block(tip, main, 1_700_000_000, OP_TRUE)
    block.header.bits = 0x1D00FFFF
    assert find_nonce(block, main, 50) == (None, 0)
