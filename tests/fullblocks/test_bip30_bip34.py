"""Coinbases that repeat an earlier one (BIP30), and the height that makes them differ (BIP34)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.params.chain_params import select_params
from helpers import chain_builder as build
from helpers.chain_builder import make_block, make_chain, make_coinbase
from helpers.world import World, spend

BIP34_HEIGHT = 500


@pytest.fixture
def early_world(tmp_path: Path) -> Iterator[World]:
    """Return a world before BIP34 is active, in which two coinbases can be the same transaction."""
    world = World(tmp_path, params=select_params("regtest", activation_heights={"bip34": BIP34_HEIGHT}))
    yield world
    world.close()


def repeated(prev: build.Built) -> build.Built:
    return make_block(prev, coinbase=make_coinbase(1, script_sig=b"\x51\x51\x51"))


def test_unspent_coinbase_can_not_be_overwritten(early_world: World) -> None:
    first = repeated(build.genesis())
    assert early_world.give(first) is None
    assert early_world.give(repeated(first)) == "bad-txns-BIP30"
    assert early_world.tip_hash == first.hash


def test_spent_coinbase_may_come_again(early_world: World) -> None:
    first = repeated(build.genesis())
    chain = [first, *make_chain(first, build.COINBASE_MATURITY)]
    chain.append(make_block(chain[-1], [spend([first.coinbase_output()])]))
    assert set(early_world.give_all(chain)) == {None}
    again = repeated(chain[-1])
    assert early_world.give(again) is None
    assert early_world.has_coin(again.coinbase_output()[0])


def test_height_is_free_before_bip34(early_world: World) -> None:
    block = make_block(build.genesis(), coinbase=make_coinbase(1, script_sig=b"\x00\x00"))
    assert early_world.give(block) is None
