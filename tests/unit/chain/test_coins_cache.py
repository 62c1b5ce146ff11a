"""The coins cache over a store is one set of coins, whatever was flushed when."""

import random
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from clarion.node.chain.coins_cache import ENTRY_BYTES, CoinsCache
from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.disconnect import disconnect_block
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import NULL_HASH, NULL_OUTPOINT, BlockHash, OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.storage.coin_store import CoinStore

_HASH = BlockHash(bytes(32))
KEPT = 12
"""Coins that may be kept for others."""


class _Store:
    """Coins in memory, with the store's interface."""

    def __init__(self) -> None:
        self.coins: dict[OutPoint, Coin] = {}
        self.deleted = 0
        self.asked = 0

    def fetch(self, outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        self.asked += len(outpoints)
        return {outpoint: self.coins[outpoint] for outpoint in outpoints if outpoint in self.coins}

    def flush(self, changes: Mapping[OutPoint, Coin | None], tip: BlockHash) -> None:
        self.deleted += sum(coin is None for coin in changes.values())
        self.coins.update({outpoint: coin for outpoint, coin in changes.items() if coin is not None})
        for outpoint in [outpoint for outpoint, coin in changes.items() if coin is None]:
            self.coins.pop(outpoint, None)


def _cache(kept: int = KEPT) -> tuple[CoinsCache, _Store]:
    store = _Store()
    return CoinsCache(cast(CoinStore, store), kept * ENTRY_BYTES), store


def _delta(height: int, spends: Mapping[OutPoint, Coin], outputs: int = 3) -> BlockDelta:
    """A block that spends these coins in one transaction, and one output of that transaction in a second."""
    coinbase = Transaction(2, [TxIn(NULL_OUTPOINT, height.to_bytes(4, "little"))], [TxOut(height, b"\x51")])
    spending = Transaction(2, [TxIn(outpoint) for outpoint in spends], [TxOut(n, b"\x51") for n in range(outputs)])
    chained = Transaction(2, [TxIn(make_outpoint(spending.txid, 0))], [TxOut(9, b"\x51")])
    txs = [coinbase, spending, chained] if spends else [coinbase]
    created = {
        make_outpoint(tx.txid, index): Coin(txout.value, txout.script_pubkey, height * 2 + (tx is coinbase))
        for tx in txs
        for index, txout in enumerate(tx.outputs)
    }
    spent = [list(spends.values()), [created[chained.inputs[0].prevout]]] if spends else []
    block = Block(BlockHeader(1, NULL_HASH, NULL_HASH, height, 0, 0), txs)
    return BlockDelta(block, height, _HASH, created, spent, 0)


def _apply(coins: dict[OutPoint, Coin], delta: BlockDelta) -> dict[OutPoint, Coin]:
    gone = {txin.prevout for tx in delta.block.txs[1:] for txin in tx.inputs}
    return {outpoint: coin for outpoint, coin in {**coins, **delta.created}.items() if outpoint not in gone}


@pytest.mark.parametrize("kept", [0, KEPT, 60])
@pytest.mark.parametrize("seed", range(30))
def test_random_walks_agree_with_a_plain_set(seed: int, kept: int) -> None:
    source = random.Random(seed)
    cache, store = _cache(kept)
    states: list[dict[OutPoint, Coin]] = [{}]
    deltas: list[BlockDelta] = []
    known: set[OutPoint] = set()
    under_way: tuple[Mapping[OutPoint, Coin | None], dict[OutPoint, Coin]] | None = None
    for _ in range(90):
        choice = source.randrange(7)
        if choice in (0, 6) and under_way is None:
            under_way = cache.begin_flush(), states[-1]
        elif choice == 0 and under_way is not None:
            # Reads must be right before the store has the changes, between that and `end_flush`, and after it.
            changes, flushed = under_way
            store.flush(changes, _HASH)
            assert store.coins == flushed
            assert cache.fetch(sorted(known)) == states[-1]
            cache.end_flush()
            under_way = None
        elif choice == 4:
            some = source.sample(sorted(states[-1]), min(len(states[-1]), 4))
            cache.keep({outpoint: states[-1][outpoint] for outpoint in some})
        elif choice == 5:
            cache.forget(source.sample(sorted(known), min(len(known), 2)))
        elif choice == 1 and deltas:
            undone = deltas.pop()
            cache.disconnect(disconnect_block(undone.block, undone.spent, undone.height))
            states.pop()
        else:
            coins = states[-1]
            spends = {outpoint: coins[outpoint] for outpoint in source.sample(sorted(coins), min(len(coins), 2))}
            deltas.append(_delta(len(states), spends))
            cache.connect(deltas[-1])
            states.append(_apply(coins, deltas[-1]))
            known |= deltas[-1].created.keys()
        assert cache.fetch(sorted(known)) == states[-1]
        assert all(cache.get(outpoint) == states[-1].get(outpoint) for outpoint in known)


def test_coins_spent_before_a_flush_leave_nothing_to_delete() -> None:
    cache, store = _cache()
    first = _delta(1, {})
    cache.connect(first)
    cache.connect(_delta(2, first.created))
    assert cache.size_bytes == 4 * ENTRY_BYTES
    cache.flush(_HASH)
    assert (store.deleted, cache.size_bytes) == (0, 0)


def test_what_a_flush_is_writing_counts_until_it_is_over() -> None:
    cache, store = _cache()
    first = _delta(1, {})
    cache.connect(first)
    changes = cache.begin_flush()
    second = _delta(2, first.created)
    cache.connect(second)
    assert (cache.size_bytes, cache.unflushed_bytes) == (6 * ENTRY_BYTES, 5 * ENTRY_BYTES)
    assert changes == first.created
    store.flush(changes, _HASH)
    cache.end_flush()
    assert cache.size_bytes == cache.unflushed_bytes == 5 * ENTRY_BYTES
    cache.flush(_HASH)
    assert store.coins == _apply(dict(first.created), second)


def test_an_overwritten_coin_is_deleted_when_it_is_spent() -> None:
    cache, store = _cache()
    first = _delta(1, {})
    cache.connect(first)
    cache.flush(_HASH)
    again = _delta(1, {})
    cache.connect(again, overwritten=again.created)
    cache.connect(_delta(2, again.created))
    cache.flush(_HASH)
    assert not store.coins.keys() & first.created.keys()


def test_what_the_last_flushes_wrote_is_at_hand_until_it_is_spent() -> None:
    cache, store = _cache(2 * 3)
    blocks = [_delta(height, {}) for height in range(1, 6)]
    for block in blocks:
        cache.connect(block)
        cache.flush(_HASH)
    # One coin a block, room for three in each of two turns: the fourth began a new one.
    assert cache.fetch([*blocks[0].created, *blocks[4].created]) == {**blocks[0].created, **blocks[4].created}
    assert store.asked == 0
    spending = _delta(6, {**blocks[0].created, **blocks[4].created})
    cache.connect(spending)
    cache.flush(_HASH)
    assert cache.fetch([*blocks[0].created, *blocks[4].created]) == {}
    assert store.asked == 2


def test_a_large_flush_leaves_no_copies() -> None:
    cache, store = _cache(2 * 3)
    small, large = _delta(1, {}), _delta(2, {make_outpoint(bytes(32), 1): Coin(1, b"", 2)}, outputs=9)
    for block in (small, large):
        cache.connect(block)
        cache.flush(_HASH)
    cache.fetch(list(small.created))
    assert store.asked == 1


def test_a_coin_that_is_kept_is_not_asked_for_again() -> None:
    cache, store = _cache()
    first = _delta(1, {})
    store.coins.update(first.created)
    cache.keep(first.created)
    assert cache.fetch(list(first.created)) == first.created
    assert store.asked == 0
    cache.connect(_delta(2, first.created))
    assert cache.fetch(list(first.created)) == {}


def test_few_coins_are_kept() -> None:
    cache, store = _cache()
    coins = {make_outpoint(bytes(32), index): Coin(index, b"", 2) for index in range(KEPT + 1)}
    store.coins.update(coins)
    cache.keep(coins)
    cache.fetch(list(coins))
    assert store.asked == KEPT + 1
    cache.keep(dict(list(coins.items())[:KEPT]))
    cache.forget(list(coins)[:2])
    cache.fetch(list(coins))
    assert store.asked == KEPT + 1 + 3
