"""A mempool and a chain as a test would keep them: sets and dictionaries, everything worked out anew at every question.

Owns: what must be true of a pool over a chain. Never: the order of changes, fee policy.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint, outpoint_txid
from clarion.node.primitives.transaction import Transaction

MATURITY = 100
FINAL = 0xFFFFFFFF


class ModelCoin(NamedTuple):
    """An unspent output with the height of its block."""

    value: int
    height: int
    coinbase: bool


class ModelCoins:
    """The unspent outputs of a chain of blocks, and what may be in the block on top of it."""

    def __init__(self, blocks: Iterable[tuple[int, Block]]) -> None:
        self.coins: dict[OutPoint, ModelCoin] = {}
        self.confirmed: set[Txid] = set()
        self.next_height = 1
        for height, block in blocks:
            for position, tx in enumerate(block.txs):
                self._add(tx, height, coinbase=not position)
                self.confirmed.add(tx.txid)
            self.next_height = height + 1

    def add(self, tx: Transaction) -> None:
        """Have `tx` in the next block: it spends what it spends and its outputs are there."""
        self._add(tx, self.next_height, coinbase=False)

    def _add(self, tx: Transaction, height: int, *, coinbase: bool) -> None:
        if not coinbase:
            for txin in tx.inputs:
                del self.coins[txin.prevout]
        for index, txout in enumerate(tx.outputs):
            self.coins[make_outpoint(tx.txid, index)] = ModelCoin(txout.value, height, coinbase)

    def fee(self, tx: Transaction) -> int | None:
        """Return the fee of `tx` in the next block, None if it can't be there: a coin is missing, or it is too early."""
        coins = [self.coins.get(txin.prevout) for txin in tx.inputs]
        found = [coin for coin in coins if coin is not None]
        if len(found) < len(coins) or not self._in_time(tx, found):
            return None
        return sum(coin.value for coin in found) - sum(txout.value for txout in tx.outputs)

    def _in_time(self, tx: Transaction, spent: Sequence[ModelCoin]) -> bool:
        """Whether coinbases are mature, and lock times and relative locks, all of them by height, have passed."""
        final = tx.lock_time < self.next_height or all(txin.sequence == FINAL for txin in tx.inputs)
        ages = [self.next_height - coin.height for coin in spent]
        mature = all(age >= MATURITY for age, coin in zip(ages, spent, strict=True) if coin.coinbase)
        relative = all(age >= txin.sequence for age, txin in zip(ages, tx.inputs, strict=True) if txin.sequence < 2**16)
        return final and mature and relative


def parents_of(txs: Mapping[Txid, Transaction], tx: Transaction) -> set[Txid]:
    """Return those of `txs` whose outputs `tx` spends."""
    return {outpoint_txid(txin.prevout) for txin in tx.inputs} & txs.keys()


def closure(start: Txid, step: Mapping[Txid, set[Txid]]) -> set[Txid]:
    """Return all that is reached from `start` in any number of steps, `start` with it."""
    found, todo = set(), [start]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo.extend(step[at])
    return found


class Relations:
    """Who depends on whom among some transactions."""

    def __init__(self, txs: Mapping[Txid, Transaction]) -> None:
        self.up = {txid: parents_of(txs, tx) for txid, tx in txs.items()}
        self.down: dict[Txid, set[Txid]] = {txid: set() for txid in txs}
        for txid, parents in self.up.items():
            for parent in parents:
                self.down[parent].add(txid)
        both = {txid: self.up[txid] | self.down[txid] for txid in txs}
        self.ancestors = {txid: closure(txid, self.up) for txid in txs}
        self.descendants = {txid: closure(txid, self.down) for txid in txs}
        self.clusters = {txid: closure(txid, both) for txid in txs}


def check_pool(pool: Mempool, coins: ModelCoins) -> Sequence[Transaction]:
    """Assert what must be true of the pool over these coins; return its transactions, parents first.

    Every transaction can be in the next block together with all the others; relations, sums and order are right.
    """
    txs = {txid: entry.tx for txid, entry in pool.entries.items()}
    relations = Relations(txs)
    ordered = pool.sorted_entries()
    assert len(ordered) == len(txs)
    for entry in ordered:
        assert coins.fee(entry.tx) == entry.base_fee_sat
        coins.add(entry.tx)
        assert entry.txid not in coins.confirmed
        assert entry.modified_fee_sat == entry.base_fee_sat + pool.deltas.get(entry.txid, 0)
        _check_relations(pool, entry.txid, relations)
    assert pool.next_tx.keys() == {txin.prevout for tx in txs.values() for txin in tx.inputs}
    assert pool.total_fee_sat == sum(entry.base_fee_sat for entry in ordered)
    assert pool.total_vsize == sum(tx.vsize for tx in txs.values())
    _check_chunks(pool)
    return [entry.tx for entry in ordered]


def _check_relations(pool: Mempool, txid: Txid, relations: Relations) -> None:
    entry = pool.entries[txid]
    assert {each.txid for each in pool.ancestors(entry)} | {txid} == relations.ancestors[txid]
    assert {each.txid for each in pool.descendants(entry)} == relations.descendants[txid]
    assert {each.txid for each in pool.cluster(entry)} == relations.clusters[txid]
    limits = pool.options.limits
    assert len(relations.clusters[txid]) <= limits.cluster_count
    assert sum(pool.entries[each].vsize for each in relations.clusters[txid]) <= limits.cluster_size_vbytes


def _check_chunks(pool: Mempool) -> None:
    """A chunk never pays more than the one before it, and all of them hold all fees."""
    points = pool.feerate_diagram()
    steps = [(b.fee - a.fee, b.size - a.size) for a, b in pairwise(points)]
    for (fee, size), (next_fee, next_size) in pairwise(steps):
        assert next_fee * size <= fee * next_size
    assert points[-1].fee == sum(entry.modified_fee_sat for entry in pool.entries.values())
