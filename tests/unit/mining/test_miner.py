"""Templates from a real pool: order, fees, limits, and blocks that are mined from them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mining.generate import generate_block, generate_to_script
from clarion.node.primitives.transaction import TxOut
from helpers.accepting import Accepting, build_chain, out
from helpers.chain_builder import Built
from helpers.chain_node import ChainNode
from helpers.mining import miner_over

OP_TRUE = b"\x51"
SUBSIDY = 50_00000000


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[ChainNode, list[Built]]]:
    node, blocks = build_chain(tmp_path)
    yield node, blocks
    node.close()


@pytest.fixture
def accepting(chain: tuple[ChainNode, list[Built]]) -> Accepting:
    return Accepting(*chain)


def test_better_paying_chunks_come_first(accepting: Accepting) -> None:
    miner = miner_over(accepting)
    poor = accepting.put(accepting.spend(accepting.coin(0), fee=1_000))
    helped = accepting.put(accepting.spend(accepting.coin(1), fee=500))
    child = accepting.put(accepting.spend(out(helped), fee=50_000))
    middle = accepting.put(accepting.spend(accepting.coin(2), fee=5_000))
    template = miner.create_template()
    assert [tx.txid for tx in template.block.txs[1:]] == [tx.txid for tx in (helped, child, middle, poor)]
    assert list(template.fees) == [500, 50_000, 5_000, 1_000]
    assert template.block.txs[0].outputs[0].value == SUBSIDY + 56_500
    assert miner.last == (8000 + sum(tx.weight for tx in (poor, helped, child, middle)), 4)


def test_prioritised_transactions_claim_their_true_fee(accepting: Accepting) -> None:
    miner = miner_over(accepting)
    rich = accepting.put(accepting.spend(accepting.coin(0), fee=5_000))
    favoured = accepting.put(accepting.spend(accepting.coin(1), fee=1_000))
    accepting.pool.prioritise(favoured.txid, 1_000_000)
    template = miner.create_template()
    assert [tx.txid for tx in template.block.txs[1:]] == [favoured.txid, rich.txid]
    assert template.block.txs[0].outputs[0].value == SUBSIDY + 6_000


def test_low_fee_rates_are_left_out(accepting: Accepting) -> None:
    miner = miner_over(accepting, min_feerate=FeeRate(20_000))
    enough = accepting.spend(accepting.coin(0), fee=0)
    enough = accepting.put(accepting.spend(accepting.coin(0), fee=20 * enough.vsize))
    accepting.put(accepting.spend(accepting.coin(1), fee=20 * enough.vsize - 1))
    assert [tx.txid for tx in miner.create_template().block.txs[1:]] == [enough.txid]


def test_what_does_not_fit_makes_room_for_smaller_ones(accepting: Accepting) -> None:
    large = accepting.put(accepting.spend(accepting.coin(0), fee=1_000_000, padding=5_000))
    child = accepting.put(accepting.spend(out(large), fee=100_000))
    small = accepting.put(accepting.spend(accepting.coin(1), fee=1_000))
    miner = miner_over(accepting, max_weight=8000 + large.weight)
    assert [tx.txid for tx in miner.create_template().block.txs[1:]] == [small.txid]
    assert child.txid in accepting.pool


def test_sigops_limit_a_block(chain: tuple[ChainNode, list[Built]]) -> None:
    accepting = Accepting(*chain, MempoolOptions(require_standard=False))
    many = TxOut(0, b"\xae" * 190)  # 190 x 20 x 4
    for number in range(6):
        accepting.put(accepting.spend(accepting.coin(number), fee=10_000_000 - number, outputs=[many]))
    cheap = accepting.put(accepting.spend(accepting.coin(6), fee=1_000))
    template = miner_over(accepting).create_template()
    assert list(template.sigop_costs) == [15_200] * 5 + [0]
    assert template.block.txs[-1].txid == cheap.txid


def test_mined_transactions_leave_the_pool(accepting: Accepting) -> None:
    miner = miner_over(accepting)
    parent = accepting.put(accepting.spend(accepting.coin(0)))
    accepting.put(accepting.spend(out(parent)))
    (block_hash,) = generate_to_script(miner, OP_TRUE, 1)
    assert accepting.node.tip == block_hash
    assert len(accepting.pool) == 0
    assert generate_to_script(miner, OP_TRUE, 1)[0] == accepting.node.tip


def test_generate_block_leaves_the_pool_alone(accepting: Accepting) -> None:
    miner = miner_over(accepting)
    chosen = accepting.put(accepting.spend(accepting.coin(0)))
    other = accepting.put(accepting.spend(accepting.coin(1)))
    block = generate_block(miner, OP_TRUE, [chosen])
    assert block is not None
    assert block.txs[0].outputs[0].value == SUBSIDY
    assert list(accepting.pool.entries) == [other.txid]
    assert miner.last == (8000, 0)


def test_template_counts_the_changes_of_the_pool(accepting: Accepting) -> None:
    miner = miner_over(accepting)
    before = miner.create_template().pool_updates
    accepting.put(accepting.spend(accepting.coin(0)))
    assert miner.create_template().pool_updates == miner.pool_updates == before + 1


@pytest.mark.parametrize("asked", [False, True])
def test_fee_rates_are_logged_on_demand(accepting: Accepting, caplog: pytest.LogCaptureFixture, asked: bool) -> None:
    tx = accepting.spend(accepting.coin(0), fee=0)
    tx = accepting.put(accepting.spend(accepting.coin(0), fee=5 * tx.vsize))
    accepting.pool.prioritise(tx.txid, 2 * tx.vsize)
    with caplog.at_level("INFO", "clarion.node.mining"):
        miner_over(accepting, log_feerates=asked).create_template()
    told = [line for line in caplog.messages if line.startswith("fee rate")]
    assert told == ([f"fee rate 0.00007000 BTC/kvB txid {tx.txid[::-1].hex()}"] if asked else [])
