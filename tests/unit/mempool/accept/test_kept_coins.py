"""Coins that the pool spends are not read from storage again."""

from collections.abc import Sequence

import pytest

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from helpers.accepting import Accepting, out


def leave_to_storage(world: Accepting) -> None:
    """Flush all coins and let the cache forget what it wrote, as it does after some dozens of blocks."""
    world.node.manager.journal.flush()
    coins = world.node.manager.state.coins
    coins._recent, coins._older = {}, {}


@pytest.fixture
def asked(world: Accepting, monkeypatch: pytest.MonkeyPatch) -> list[OutPoint]:
    """Return the outpoints that storage is asked for, as the list grows."""
    found: list[OutPoint] = []
    store = world.node.database.coins
    fetch = store.fetch

    def noted(outpoints: Sequence[OutPoint]) -> dict[OutPoint, Coin]:
        found.extend(outpoints)
        return fetch(outpoints)

    monkeypatch.setattr(store, "fetch", noted)
    return found


def test_the_coins_of_an_accepted_transaction_are_at_hand(world: Accepting, asked: list[OutPoint]) -> None:
    coin = world.coin()
    parent = world.put(world.spend(coin))
    world.put(world.spend(out(parent)))
    del asked[:]
    assert world.node.manager.state.coins.fetch([coin]).keys() == {coin}
    assert asked == []


def test_coins_go_with_their_transaction(world: Accepting, asked: list[OutPoint]) -> None:
    first, second = world.coin(0), world.coin(1)
    world.put(world.spend(first, second, fee=1_000))
    world.put(world.spend(first, fee=50_000))
    leave_to_storage(world)
    del asked[:]
    world.node.manager.state.coins.fetch([first, second])
    assert asked == [second]
    world.node.manager.state.coins.forget([first])
