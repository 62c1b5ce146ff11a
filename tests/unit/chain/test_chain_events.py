"""The event log of a chain: every connect and disconnect in the order of the reference's signals."""

from pathlib import Path

from clarion.node.chain.pool_link import NoPool
from clarion.node.chain.state import FAR_BEHIND_BLOCKS
from clarion.node.events.row import read_tip_body
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import COIN, genesis, make_block, make_chain, make_coinbase
from helpers.chain_node import ChainNode

OP_FALSE = b"\x00"


class HoldingPool(NoPool):
    """A pool that blocks mean something to."""

    idle = False


def test_genesis_is_told_as_connected_in_initial_download(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    assert node.story([genesis()]) == ["+0", "=0"]
    assert read_tip_body(node.rows()[1].body) == (bytes(32), True)


def test_a_block_on_the_tip_is_connected_then_the_tip_changes(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), 2)
    node.submit(*chain)
    assert node.story([genesis(), *chain], after=2) == ["+1", "=1", "+2", "=2"]
    assert read_tip_body(node.rows()[-1].body) == (chain[0].hash, False)


def test_a_reorganisation_disconnects_downward_then_connects_upward_with_one_tip_change(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    old = make_chain(genesis(), 3)
    new = make_chain(old[0], 3, extra_nonce=1)
    node.submit(*old)
    seen = node.rows()[-1].seq
    node.submit(*new)
    assert node.story([*old, *new], after=seen) == ["-2", "-1", "+3", "+4", "+5", "=5"]
    assert read_tip_body(node.rows()[-1].body)[0] == old[0].hash


def test_a_branch_of_equal_work_is_stored_and_not_told(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    old = make_chain(genesis(), 2)
    node.submit(*old)
    seen = node.rows()[-1].seq
    outcomes = node.submit(*make_chain(old[0], 1, extra_nonce=1))
    assert node.rows(seen) == []
    assert (outcomes[0].accepted, outcomes[0].new, outcomes[0].checked) == (True, True, False)


def test_a_branch_that_fails_half_way_is_told_as_it_happened(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    old = make_chain(genesis(), 2)
    good = make_block(genesis(), extra_nonce=1)
    greedy = make_block(good, coinbase=make_coinbase(2, value=51 * COIN))
    last = make_block(greedy)
    node.submit(*old)
    seen = node.rows()[-1].seq
    node.submit(good, greedy, last)
    names = [*old, good, greedy, last]
    assert node.story(names, after=seen) == ["-1", "-0", "+2", "-2", "+0", "+1"]
    assert node.tip == old[1].hash


def test_a_tip_that_comes_back_behind_revived_invalid_blocks_has_not_changed(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    base = make_chain(genesis(), 1)
    # Both arrive before the tip, so both are tried again before it once they are no longer known to be invalid.
    greedy = [make_block(base[0], coinbase=make_coinbase(2, value=51 * COIN, extra_nonce=nonce)) for nonce in (1, 2)]
    tip = make_block(base[0])
    node.submit(*base, *greedy, tip)
    seen = node.rows()[-1].seq
    entry = node.manager.state.index.get(base[0].hash)
    assert entry is not None
    node.manager.reconsider_block(entry)
    node.manager.commit()
    assert node.story([*base, *greedy, tip], after=seen) == ["-3", "+3"]


def test_event_numbers_have_no_gap_and_start_at_one(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    node.submit(*make_chain(genesis(), 5))
    assert [row.seq for row in node.rows()] == list(range(1, 13))


def test_initial_download_batches_commits_until_asked(tmp_path: Path) -> None:
    node = ChainNode(tmp_path, max_tip_age=60)
    for built in make_chain(genesis(), 3):
        assert built.block is not None
        node.manager.process_new_block(built.block)
    assert len(node.rows()) == 2
    node.manager.commit()
    assert len(node.rows()) == 8
    assert all(read_tip_body(row.body)[1] for row in node.rows() if row.body)


def test_far_behind_the_best_header_commits_come_in_batches(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    chain = make_chain(genesis(), FAR_BEHIND_BLOCKS + 4)
    node.submit(chain[0])
    blocks = [built.block for built in chain if built.block is not None]
    node.manager.process_new_headers([block.header for block in blocks])
    node.manager.commit()
    seen = node.rows()[-1].seq
    for block in blocks[1:3]:
        node.manager.process_new_block(block)
    assert (node.rows(seen), node.manager.tip.height) == ([], 1)
    # This one is no further away than blocks that are waited for, and takes the others along.
    node.manager.process_new_block(blocks[3])
    assert node.story(chain, after=seen) == ["+1", "=1", "+2", "=2", "+3", "=3"]
    assert not any(read_tip_body(row.body)[1] for row in node.rows(seen) if row.body)


def test_a_pool_that_holds_something_is_never_ahead_of_the_tip_that_is_told(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    node.manager.state.pool = HoldingPool()
    chain = make_chain(genesis(), FAR_BEHIND_BLOCKS + 4)
    blocks = [built.block for built in chain if built.block is not None]
    node.submit(chain[0])
    node.manager.process_new_headers([block.header for block in blocks])
    with node.manager.at_a_stretch():
        node.manager.process_new_block(blocks[1])
    assert node.manager.tip.height == 2


def test_two_branches_whose_scripts_fail_leave_the_tip_untold(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    base = make_chain(genesis(), 101, script=OP_FALSE)
    outpoint, output = base[0].coinbase_output()
    wrong = Transaction(2, [TxIn(outpoint)], [TxOut(output.value, OP_FALSE)])
    failing = [make_block(base[-1], [wrong], extra_nonce=nonce) for nonce in (1, 2)]
    tip = make_block(base[-1])
    node.submit(*base, *failing, tip)
    seen = node.rows()[-1].seq
    entry = node.manager.state.index.get(base[-1].hash)
    assert entry is not None
    node.manager.reconsider_block(entry)
    node.manager.commit()
    # Both come before the tip, having arrived first; it is back in the end, so no tip has changed.
    assert node.story([*base, *failing, tip], after=seen) == ["-103", "+103"]


def test_a_tip_that_is_left_for_branches_that_fail_and_found_again_is_not_told(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    base = make_chain(genesis(), 101, script=OP_FALSE)
    outpoint, output = base[0].coinbase_output()
    wrong = Transaction(2, [TxIn(outpoint)], [TxOut(output.value, OP_FALSE)])
    long = make_block(base[-1], [wrong], extra_nonce=1)
    longer = make_block(long)
    short = make_block(base[-1], [wrong], extra_nonce=2)
    tips = make_chain(base[-1], 3, extra_nonce=3)
    node.submit(*base)
    assert long.block is not None
    node.manager.process_new_headers([long.block.header])
    node.submit(longer, short, long, *tips)
    base_entry, second = node.manager.state.index.get(base[-1].hash), node.manager.state.index.get(tips[1].hash)
    assert base_entry is not None
    assert second is not None
    node.manager.reconsider_block(base_entry)  # the failed branches have less work than the tip: nothing is tried yet
    seen = node.rows()[-1].seq
    node.manager.invalidate_block(second)
    assert node.story(tips, after=seen) == ["-2", "-1", "=0", "-0", "+0"]
