"""Branches that overtake each other, blocks that come early or spoilt, and what the operator decides."""

from clarion.node.primitives.block import Block
from clarion.node.primitives.transaction import TxOut
from helpers import chain_builder as build
from helpers.chain_builder import OP_TRUE, Built, make_block, make_chain, make_coinbase
from helpers.world import World, spend


def entry(world: World, built: Built) -> object:
    found = world.manager.lookup(built.hash)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_equal_work_leaves_the_first_seen_tip(world: World) -> None:
    first, second = (make_block(world.tip, extra_nonce=n) for n in (1, 2))
    assert world.give_all([first, second]) == [None, None]
    assert world.tip_hash == first.hash


def test_more_work_takes_over(world: World) -> None:
    first = make_block(world.tip, extra_nonce=1)
    branch = make_chain(world.tip, 2, extra_nonce=2)
    assert world.give_all([first, *branch]) == [None] * 3
    assert world.tip_hash == branch[-1].hash


def test_coins_come_back_when_a_block_is_left(world: World) -> None:
    coin = world.coin("true")
    tx = spend([coin])
    world.give(make_block(world.tip, [tx]))
    world.give_all(make_chain(world.tip, 2, extra_nonce=2))
    assert world.has_coin(coin[0])
    assert not world.has_coin(build.spendable(tx, 0)[0])


def test_there_and_back_again(world: World) -> None:
    coin = world.coin("true")
    one = [make_block(world.tip, [spend([coin])])]
    two = make_chain(world.tip, 2, extra_nonce=2)
    one += make_chain(one[0], 2, extra_nonce=1)
    assert world.give_all([one[0], *two, *one[1:]]) == [None] * 5
    assert world.tip_hash == one[-1].hash
    assert not world.has_coin(coin[0])


def test_deep_reorganisation(world: World) -> None:
    fork = world.base[20]
    branch = make_chain(fork, len(world.base) - 20, extra_nonce=9)
    assert set(world.give_all(branch)) == {None}
    assert world.tip_hash == branch[-1].hash
    assert not world.has_coin(world.base[30].coinbase_output()[0])
    assert world.has_coin(world.base[10].coinbase_output()[0])


def test_invalid_block_in_a_better_branch(world: World) -> None:
    good = make_block(world.tip, extra_nonce=1)
    side = make_block(world.tip, extra_nonce=2)
    bad = make_block(side, coinbase=make_coinbase(side.height + 1, value=build.subsidy(side.height + 1) + 1))
    assert world.give_all([good, side, bad]) == [None, None, "bad-cb-amount"]
    assert world.tip_hash == side.hash or world.tip_hash == good.hash
    assert world.give(make_block(bad)) == "bad-prevblk"


def test_invalid_ancestor_found_late(world: World) -> None:
    """The bad block is only connected when its branch becomes the best one; all above it fail with it."""
    good = make_chain(world.tip, 2, extra_nonce=1)
    bad = make_block(world.tip, coinbase=make_coinbase(world.tip.height + 1, value=build.subsidy(1) + 1))
    branch = [bad, *make_chain(bad, 2, extra_nonce=2)]
    world.give_all([*good, *branch])
    assert world.tip_hash == good[-1].hash
    assert world.give(make_block(branch[-1])) == "bad-prevblk"


def test_refused_for_good(world: World) -> None:
    bad = make_block(world.tip, coinbase=make_coinbase(world.tip.height + 1, value=build.subsidy(1) + 1))
    assert world.give(bad) == "bad-cb-amount"
    assert world.give(bad) == "duplicate-invalid"


def test_orphan_is_kept_out_until_its_parent_is_here(world: World) -> None:
    parent, child = make_chain(world.tip, 2)
    assert world.give(child) == "prev-blk-not-found"
    assert world.give_all([parent, child]) == [None, None]
    assert world.tip_hash == child.hash


def test_headers_first_bodies_backwards(world: World) -> None:
    branch = make_chain(world.tip, 5)
    world.give_headers(branch)
    assert world.give_all(branch[:0:-1]) == [None] * 4
    assert world.tip_hash == world.tip.hash
    assert world.give(branch[0]) is None
    assert world.tip_hash == branch[-1].hash


def test_duplicated_transactions_do_not_condemn_the_hash(world: World) -> None:
    txs = [spend([world.coin(kind)]) for kind in ("true", "true2")]
    true = make_block(world.tip, txs)
    assert true.block is not None
    spoilt = Built(true.hash, true.height, true.time, world.tip, Block(true.block.header, [*true.txs, true.txs[-1]]))
    assert world.give_all([spoilt, true]) == ["bad-txns-duplicate", None]
    assert world.tip_hash == true.hash


def test_changed_transactions_do_not_condemn_the_hash(world: World) -> None:
    true = make_block(world.tip, [spend([world.coin("true")])])
    assert true.block is not None
    spoilt = Built(true.hash, true.height, true.time, world.tip, Block(true.block.header, list(true.txs[:1])))
    assert world.give_all([spoilt, true]) == ["bad-txnmrklroot", None]
    assert world.tip_hash == true.hash


def test_stripped_witness_does_not_condemn_the_hash(world: World) -> None:
    true = make_block(world.tip, [spend([world.coin("wpkh")])])
    assert true.block is not None
    bare = [type(tx).parse(tx.serialize_without_witness()) for tx in true.txs]
    spoilt = Built(true.hash, true.height, true.time, world.tip, Block(true.block.header, bare))
    assert world.give_all([spoilt, true]) == ["bad-witness-nonce-size", None]
    assert world.tip_hash == true.hash


def test_too_early_block_is_welcome_later(world: World) -> None:
    world.dismiss_oracle()
    early = make_block(world.tip, time=world.clock.now() + build.MAX_FUTURE_BLOCK_TIME + 60)
    assert world.give(early) == "time-too-new"
    world.clock.set_mock(world.clock.now() + 60)
    assert world.give(early) is None
    assert world.tip_hash == early.hash


def test_time_of_a_locked_output_passes(world: World) -> None:
    tx = spend([world.coin("csv")], sequence=10)
    assert world.give(make_block(world.tip, [tx])) == "bad-txns-nonfinal"
    chain = make_chain(world.tip, 9)
    world.give_all(chain)
    assert world.give(make_block(chain[-1], [tx])) is None


def test_invalidate_and_reconsider(world: World) -> None:
    branch = make_chain(world.tip, 3)
    world.give_all(branch)
    world.dismiss_oracle()
    world.manager.invalidate_block(entry(world, branch[1]))  # type: ignore[arg-type]
    assert world.tip_hash == branch[0].hash
    assert world.give(make_block(branch[2])) == "bad-prevblk"
    world.manager.reconsider_block(entry(world, branch[1]))  # type: ignore[arg-type]
    assert world.tip_hash == branch[2].hash


def test_invalidate_moves_to_the_next_best_branch(world: World) -> None:
    best = make_chain(world.tip, 3, extra_nonce=1)
    other = make_chain(world.tip, 2, extra_nonce=2)
    world.give_all([*best, *other])
    world.dismiss_oracle()
    world.manager.invalidate_block(entry(world, best[0]))  # type: ignore[arg-type]
    assert world.tip_hash == other[-1].hash
    world.manager.reconsider_block(entry(world, best[2]))  # type: ignore[arg-type]
    assert world.tip_hash == best[-1].hash


def test_precious_block_wins_a_tie(world: World) -> None:
    first, second = (make_block(world.tip, extra_nonce=n) for n in (1, 2))
    world.give_all([first, second])
    world.dismiss_oracle()
    world.manager.precious_block(entry(world, second))  # type: ignore[arg-type]
    assert world.tip_hash == second.hash
    world.manager.precious_block(entry(world, first))  # type: ignore[arg-type]
    assert world.tip_hash == first.hash


def test_subsidy_halves(world: World) -> None:
    chain = make_chain(world.tip, build.REGTEST_HALVING - world.tip.height - 1)
    world.give_all(chain)
    greedy = make_coinbase(build.REGTEST_HALVING, value=build.INITIAL_SUBSIDY // 2 + 1)
    assert world.give(make_block(chain[-1], coinbase=greedy)) == "bad-cb-amount"
    assert world.give(make_block(chain[-1])) is None


def test_outputs_of_a_left_branch_are_unknown(world: World) -> None:
    left = make_block(world.tip, [spend([world.coin("true")], [TxOut(1, OP_TRUE)], fee=0)])
    coin = build.spendable(left.txs[1], 0)
    branch = make_chain(world.tip, 2, extra_nonce=2)
    world.give_all([left, *branch])
    assert world.give(make_block(branch[-1], [spend([coin])])) == "bad-txns-inputs-missingorspent"
