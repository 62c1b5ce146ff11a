"""Whatever the pool holds, a template keeps every rule, every limit, and the order of the pool's chunks."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clarion.node.consensus.constants import MAX_BLOCK_SIGOPS_COST
from clarion.node.mempool.feefrac import compare_ratio
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.options import MempoolOptions
from clarion.node.primitives.ids import OutPoint, make_outpoint, outpoint_txid
from clarion.node.primitives.transaction import TxOut
from helpers.accepting import MATURE, Accepting, build_chain
from helpers.chain_builder import Built
from helpers.chain_node import ChainNode
from helpers.mining import entries_of, miner_over

SUBSIDY = 50_00000000

TRANSACTION = st.tuples(
    st.lists(st.integers(0, 60), min_size=1, max_size=3),  # which of the free outputs it spends
    st.integers(1, 3),  # outputs
    st.integers(100, 60_000),  # fee
    st.sampled_from([0, 0, 0, 300, 4_000]),  # bytes of padding
    st.sampled_from([0, 0, 0, 100]),  # sigops of a bare multisig in its first output
    st.sampled_from([0, 0, 0, -20_000, 50_000]),  # fee delta
)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChainNode, list[Built]]]:
    node, blocks = build_chain(tmp_path_factory.mktemp("templates"))
    yield node, blocks
    node.close()


def fill(accepting: Accepting, shapes: list[tuple[list[int], int, int, int, int, int]]) -> None:
    """Offer transactions of these shapes; those that the pool refuses are left out."""
    free: list[OutPoint] = [accepting.coin(number) for number in range(MATURE)]
    for picks, outputs, fee, padding, sigops, delta in shapes:
        spent = list(dict.fromkeys(free[pick % len(free)] for pick in picks))
        more: int | list[TxOut] = [TxOut(0, b"\xae" * (sigops // 20))] if sigops else outputs
        tx = accepting.spend(*spent, fee=fee, outputs=more, padding=padding)
        if accepting.offer(tx).valid:
            free = [outpoint for outpoint in free if outpoint not in spent]
            first = 1 if sigops else 0
            free += [make_outpoint(tx.txid, index) for index in range(first, first + (1 if sigops else outputs))]
            accepting.pool.prioritise(tx.txid, delta)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shapes=st.lists(TRANSACTION, min_size=8, max_size=40),
    room=st.sampled_from([1, 500, 3_000, 10_000, 20_000, 3_992_000]),
    min_feerate=st.sampled_from([0, 1, 1_000, 30_000]),
)
def test_templates_are_valid(
    chain: tuple[ChainNode, list[Built]],
    shapes: list[tuple[list[int], int, int, int, int, int]],
    room: int,
    min_feerate: int,
) -> None:
    accepting = Accepting(*chain, MempoolOptions(require_standard=False))
    fill(accepting, shapes)
    miner = miner_over(accepting, max_weight=8000 + room, min_feerate=FeeRate(min_feerate))
    template = miner.create_template()  # raises unless our own connect takes it
    txs = template.block.txs[1:]
    entries = entries_of(accepting, txs)
    assert list(template.fees) == [entry.base_fee_sat for entry in entries]
    assert template.block.txs[0].outputs[0].value == SUBSIDY + sum(template.fees)
    assert template.block.weight <= 8000 + room
    assert 400 + sum(template.sigop_costs) < MAX_BLOCK_SIGOPS_COST
    rates = [accepting.pool.graph.main_chunk_feerate(entry) for entry in entries]
    assert all(compare_ratio(left, right) >= 0 for left, right in pairwise(rates))
    seen: set[bytes] = set()
    for tx in txs:
        parents = {outpoint_txid(txin.prevout) for txin in tx.inputs} & accepting.pool.entries.keys()
        assert parents <= seen
        seen.add(tx.txid)
