"""Blocks on the right side of a limit: each becomes the tip."""

from collections.abc import Callable

import pytest

from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers import chain_builder as build
from helpers.chain_builder import MAX_BLOCK_SIGOPS_COST, MAX_BLOCK_WEIGHT, OP_TRUE, Built, make_block, make_coinbase
from helpers.signing import GROUP_ORDER, SIGHASH_ALL, legacy_hash, push
from helpers.world import KEY, World, spend, with_script

ACCEPTED: dict[str, Callable[[World], Built]] = {}


def accepted(make: Callable[[World], Built]) -> Callable[[World], Built]:
    ACCEPTED[make.__name__.replace("_", "-")] = make
    return make


@accepted
def every_signature_kind(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("pkh"), world.coin("wpkh"), world.coin("tr")])])


@accepted
def high_s_signature(world: World) -> Built:
    tx = spend([world.coin("pkh")])
    message = legacy_hash(2, tx.inputs, tx.outputs, 0, KEY.pkh, 0)
    der = KEY.private.sign(message, hasher=None)
    r = der[4 : 4 + der[3]]
    low_s = int.from_bytes(der[6 + der[3] :], "big")
    s = (GROUP_ORDER - low_s).to_bytes(33, "big")  # the leading zero keeps it positive
    body = b"\x02" + bytes((len(r),)) + r + b"\x02" + bytes((len(s),)) + s
    signature = b"\x30" + bytes((len(body),)) + body + bytes((SIGHASH_ALL,))
    return make_block(world.tip, [with_script(tx, push(signature) + push(KEY.public))])


@accepted
def child_behind_parent(world: World) -> Built:
    parent = spend([world.coin("true")])
    return make_block(world.tip, [parent, spend([build.spendable(parent, 0)])])


@accepted
def coinbase_100_deep(world: World) -> Built:
    mature = world.base[world.tip.height - build.COINBASE_MATURITY]
    return make_block(world.tip, [spend([mature.coinbase_output()])])


@accepted
def fees_taken_in_full(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")], fee=5)], fees=5)


@accepted
def subsidy_not_taken(world: World) -> Built:
    return make_block(world.tip, coinbase=make_coinbase(world.tip.height + 1, value=0))


@accepted
def time_one_behind_the_median(world: World) -> Built:
    return make_block(world.tip, time=world.tip.median_time_past() + 1)


@accepted
def time_two_hours_ahead(world: World) -> Built:
    return make_block(world.tip, time=world.clock.now() + build.MAX_FUTURE_BLOCK_TIME)


@accepted
def version_4(world: World) -> Built:
    return make_block(world.tip, version=4)


@accepted
def lock_time_of_the_parent_height(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")], lock_time=world.tip.height)])


@accepted
def lock_time_ignored_with_final_sequence(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")], lock_time=10**6, sequence=0xFFFFFFFF)])


@accepted
def relative_lock_of_one_block(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")], sequence=1)])


@accepted
def relative_lock_ignored_in_version_1(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")], sequence=100, version=1)])


@accepted
def commitment_without_witnesses(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin("true")])], commit=True)


@accepted
def unknown_witness_version(world: World) -> Built:
    return make_block(world.tip, [with_script(spend([world.coin("unknown-witness")]), witness=(b"\x07",))])


@accepted
def p2sh_and_p2wsh(world: World) -> Built:
    hashed = with_script(spend([world.coin("p2sh")]), push(OP_TRUE))
    witnessed = with_script(spend([world.coin("p2wsh")]), witness=(OP_TRUE,))
    return make_block(world.tip, [hashed, witnessed])


@accepted
def sigops_at_the_limit(world: World) -> Built:
    output = TxOut(0, b"\xac" * (MAX_BLOCK_SIGOPS_COST // 4))
    return make_block(world.tip, coinbase=make_coinbase(world.tip.height + 1, more_outputs=[output]))


@accepted
def weight_at_the_limit(world: World) -> Built:
    """A coinbase output is filled up until the block weighs exactly what is allowed."""

    def with_filler(size: int) -> Built:
        filler = TxOut(0, bytes(size))
        return make_block(world.tip, coinbase=make_coinbase(world.tip.height + 1, more_outputs=[filler]))

    room = MAX_BLOCK_WEIGHT // 4 - 300
    block = with_filler(room).block
    assert block is not None
    built = with_filler(room + (MAX_BLOCK_WEIGHT - block.weight) // 4)
    assert built.block is not None
    assert built.block.weight == MAX_BLOCK_WEIGHT
    return built


@accepted
def odd_number_of_transactions(world: World) -> Built:
    return make_block(world.tip, [spend([world.coin(kind)]) for kind in ("true", "true2")])


@pytest.mark.parametrize("make", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(world: World, make: Callable[[World], Built]) -> None:
    built = make(world)
    assert world.give(built) is None
    assert world.tip_hash == built.hash


def test_coins_follow_the_tip(world: World) -> None:
    coin = world.coin("true")
    tx = spend([coin])
    assert world.give(make_block(world.tip, [tx])) is None
    assert not world.has_coin(coin[0])
    assert world.has_coin(build.spendable(tx, 0)[0])


def test_unspendable_outputs_are_no_coins(world: World) -> None:
    tx = spend([world.coin("true")], [TxOut(0, b"\x6a\x01\x02"), TxOut(1, OP_TRUE)])
    assert world.give(make_block(world.tip, [tx])) is None
    assert not world.has_coin(build.spendable(tx, 0)[0])
    assert world.has_coin(build.spendable(tx, 1)[0])


def test_many_inputs_of_one_block(world: World) -> None:
    outputs = [TxOut(1000, OP_TRUE)] * 500
    parent = spend([world.coin("true")], outputs)
    children = [
        Transaction(2, [TxIn(build.spendable(parent, i)[0])], [TxOut(1000, OP_TRUE)]) for i in range(len(outputs))
    ]
    built = make_block(world.tip, [parent, *children])
    assert world.give(built) is None
    assert world.tip_hash == built.hash
