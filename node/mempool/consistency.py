"""The pool's invariants, checked slowly: -checkmempool.

Owns: what must hold of the pool at the tip. Never: changing anything. Runs on the chain thread, under the pool's lock.
"""

import logging
from collections.abc import Collection

from clarion.node.chain.state import ChainState
from clarion.node.consensus.tx_verify import check_tx_inputs
from clarion.node.mempool.coins_view import MempoolCoins
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.graph import Level
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import OutPoint, outpoint_txid

logger = logging.getLogger(__name__)


def check_consistency(pool: Mempool, state: ChainState) -> None:
    """Raise AssertionError unless the pool, its indexes, its sums and its graph agree with each other and the chain."""
    logger.debug("Checking mempool with %d transactions and %d inputs", len(pool), len(pool.next_tx))
    assert not pool.graph.is_oversized(Level.MAIN), "a cluster is too large"
    pool.graph.sanity_check()
    entries = pool.sorted_entries()
    _check_spending(pool, state, entries)
    for entry in entries:
        _check_relatives(pool, entry)
    _check_sums(pool, entries)
    _check_diagram(pool, entries)
    assert pool.unbroadcast <= pool.entries.keys(), "the unbroadcast set names what is not here"


def _check_spending(pool: Mempool, state: ChainState, entries: Collection[MempoolEntry]) -> None:
    coins = MempoolCoins(pool.entries, state.coins.fetch)
    coins.prefetch(entry.tx for entry in entries)
    height = state.active.height + 1
    seen = set()
    spent: set[OutPoint] = set()
    for entry in entries:
        tx = entry.tx
        assert pool.get_by_wtxid(tx.wtxid) is entry
        assert not tx.is_coinbase
        for txin in tx.inputs:
            parent = outpoint_txid(txin.prevout)
            assert parent not in pool or parent in seen, "a child stands before its parent"
            assert pool.next_tx[txin.prevout] is entry
            assert txin.prevout not in spent, "two entries spend one coin"
            spent.add(txin.prevout)
        seen.add(tx.txid)
        assert check_tx_inputs(tx, coins.spent_by(tx), height) == entry.base_fee_sat
        assert entry.lock_points.valid_in(state.active)
    assert spent == pool.next_tx.keys()


def _check_relatives(pool: Mempool, entry: MempoolEntry) -> None:
    parents, children = pool.parents(entry), pool.children(entry)
    assert all(entry in pool.children(parent) for parent in parents)
    assert all(entry in pool.parents(child) for child in children)
    ancestors = {entry}.union(*(pool.graph.ancestors(parent, Level.MAIN) for parent in parents))
    assert ancestors == set(pool.graph.ancestors(entry, Level.MAIN))
    descendants = {entry}.union(*(pool.graph.descendants(child, Level.MAIN) for child in children))
    assert descendants == set(pool.graph.descendants(entry, Level.MAIN))


def _check_sums(pool: Mempool, entries: Collection[MempoolEntry]) -> None:
    assert pool.total_vsize == sum(entry.vsize for entry in entries)
    assert pool.total_fee_sat == sum(entry.base_fee_sat for entry in entries)
    assert pool.inner_usage_bytes == sum(entry.usage_bytes for entry in entries)
    assert pool.graph.transaction_count(Level.MAIN) == len(entries)


def _check_diagram(pool: Mempool, entries: Collection[MempoolEntry]) -> None:
    """Each point of the diagram must be a sum that comes up when the entries are added one by one, in their order."""
    diagram = pool.feerate_diagram()
    assert 1 <= len(diagram) <= len(entries) + 1
    points = iter(diagram)
    expected = next(points)
    fee = weight = 0
    for entry in entries:
        assert expected.size >= weight, "the diagram lags behind"
        if (expected.fee, expected.size) == (fee, weight):
            expected = next(points)
        fee += entry.modified_fee_sat
        weight += entry.weight
    assert expected == FeeFrac(fee, weight)
    assert next(points, None) is None
