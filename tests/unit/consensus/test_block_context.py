"""Block rules that need the headers before: targets, times, versions, heights, weight."""

import pytest

from clarion.node.consensus.block_context import contextual_check_block, contextual_check_block_header
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import WITNESS_RESERVED, commitment_output, genesis, height_push, make_coinbase
from helpers.positions import Position, chain

BITS = 0x207FFFFF
REGTEST = select_params("regtest")
TWO_HOURS = 7200


def header(prev: Position, time: int, *, version: int = 0x20000000, bits: int = BITS) -> BlockHeader:
    return BlockHeader(version, prev.hash, bytes(32), time, bits, 0)


def judge(head: BlockHeader, prev: Position, params: ChainParams = REGTEST, now: int = 2**33) -> str | None:
    try:
        contextual_check_block_header(head, prev, params, now)
    except BlockInvalid as error:
        return str(error)
    return None


def test_target_must_be_the_required_one() -> None:
    prev = chain(3, bits=BITS)
    assert judge(header(prev, prev.time + 1), prev) is None
    assert judge(header(prev, prev.time + 1, bits=0x1D00FFFF), prev) == "bad-diffbits, incorrect proof of work"


def test_time_is_later_than_the_median() -> None:
    prev = chain(12, bits=BITS)
    median = prev.median_time_past()
    assert judge(header(prev, median + 1), prev) is None
    assert judge(header(prev, median), prev) == "time-too-old, block's timestamp is too early"


def test_time_is_at_most_two_hours_ahead() -> None:
    prev = chain(3, bits=BITS)
    now = prev.time + 1
    assert judge(header(prev, now + TWO_HOURS), prev, now=now) is None
    with pytest.raises(BlockInvalid) as caught:
        contextual_check_block_header(header(prev, now + TWO_HOURS + 1), prev, REGTEST, now)
    assert str(caught.value) == "time-too-new, block timestamp too far in the future"
    assert (caught.value.time_future, caught.value.permanent) == (True, False)


def test_bip94_forbids_a_jump_back_at_a_retarget() -> None:
    bip94 = select_params("regtest", enforce_bip94=True)
    prev = Position(chain(143, bits=BITS, spacing=1), time=1_600_100_000, bits=BITS)
    assert (prev.height + 1) % 144 == 0
    early = header(prev, prev.time - 601)
    reason = "time-timewarp-attack, block's timestamp is too early on diff adjustment block"
    assert judge(early, prev, bip94) == reason
    assert judge(header(prev, prev.time - 600), prev, bip94) is None
    assert judge(early, prev) is None


def test_bip94_looks_at_retargets_only() -> None:
    bip94 = select_params("regtest", enforce_bip94=True)
    prev = Position(chain(142, bits=BITS, spacing=1), time=1_600_100_000, bits=BITS)
    assert judge(header(prev, prev.time - 601), prev, bip94) is None


@pytest.mark.parametrize(
    ("version", "name"),
    [(1, "bip34"), (2, "dersig"), (3, "cltv")],
)
def test_old_versions_end_with_their_soft_fork(version: int, name: str) -> None:
    heights = {"bip34": 1000, "dersig": 1000, "cltv": 1000}
    prev = chain(10, bits=BITS)
    head = header(prev, prev.time + 1, version=version)
    active = select_params("regtest", activation_heights=heights | {name: 10})
    later = select_params("regtest", activation_heights=heights | {name: 11})
    expected = f"bad-version(0x0000000{version}), rejected nVersion=0x0000000{version} block"
    assert judge(head, prev, active) == expected
    assert judge(head, prev, later) is None


def test_negative_version_is_old_and_shown_unsigned() -> None:
    prev = chain(3, bits=BITS)
    expected = "bad-version(0xffffffff), rejected nVersion=0xffffffff block"
    assert judge(header(prev, prev.time + 1, version=-1), prev) == expected


def test_order_of_header_checks() -> None:
    prev = chain(12, bits=BITS)
    assert judge(header(prev, 0, version=1, bits=0), prev, now=-(10**6)) == "bad-diffbits, incorrect proof of work"
    assert str(judge(header(prev, 0, version=1), prev, now=-(10**6))).startswith("time-too-old")
    assert str(judge(header(prev, prev.time + 1, version=1), prev, now=0)).startswith("time-too-new")


def block(txs: list[Transaction], time: int = 1_600_000_000) -> Block:
    return Block(BlockHeader(0x20000000, genesis().hash, bytes(32), time, BITS, 0), txs)


def verdict(found: Block, prev: Position | None, params: ChainParams = REGTEST) -> str | None:
    try:
        contextual_check_block(found, prev, params)
    except BlockInvalid as error:
        return str(error)
    return None


def locked(lock_time: int) -> Transaction:
    return Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0), sequence=0)], [TxOut(1, b"")], lock_time)


def test_transactions_must_be_final_by_height() -> None:
    prev = chain(10)
    assert verdict(block([make_coinbase(10), locked(9)]), prev) is None
    assert verdict(block([make_coinbase(10), locked(10)]), prev) == "bad-txns-nonfinal, non-final transaction"


def test_time_locks_are_measured_by_the_median_since_bip113() -> None:
    prev = chain(11)
    tx = locked(prev.median_time_past())
    found = block([make_coinbase(11), tx], prev.time + 600)
    before = select_params("regtest", activation_heights={"csv": 12})
    assert verdict(found, prev) == "bad-txns-nonfinal, non-final transaction"
    assert verdict(found, prev, before) is None


@pytest.mark.parametrize("height", [1, 16, 17, 127, 128, 255, 256, 32767, 32768, 8388608])
def test_coinbase_starts_with_the_height(height: int) -> None:
    prev = Position(height=height - 1)
    assert verdict(block([make_coinbase(height)]), prev) is None
    wrong = "bad-cb-height, block height mismatch in coinbase"
    assert verdict(block([make_coinbase(height + 1)]), prev) == wrong
    # The script may go on behind the height, but not lack a byte of it.
    short = make_coinbase(height, script_sig=height_push(height)[:-1])
    assert verdict(block([short]), prev) == wrong


def test_height_is_free_before_bip34() -> None:
    later = select_params("regtest", activation_heights={"bip34": 11})
    prev = chain(10)
    assert verdict(block([make_coinbase(99)]), prev, later) is None


def weighing(weight: int) -> Block:
    """Return a block of that weight, most of it in a witness."""

    def build(padding: int) -> Block:
        spend = TxIn(make_outpoint(b"\x11" * 32, 0), witness=(bytes(padding),))
        tx = Transaction(2, [spend], [TxOut(1, b"")])
        coinbase = make_coinbase(1, more_outputs=[commitment_output([tx])], witness=(WITNESS_RESERVED,))
        return block([coinbase, tx])

    return build(3_000_000 + weight - build(3_000_000).weight)


def test_weight_is_limited() -> None:
    assert verdict(weighing(4_000_000), chain(1)) is None
    assert verdict(weighing(4_000_001), chain(1)) == "bad-blk-weight, ContextualCheckBlock : weight limit failed"


def test_witness_is_checked_before_the_weight() -> None:
    found = weighing(4_000_001)
    found.txs[0] = make_coinbase(1, more_outputs=[TxOut(0, b"\x51")])
    assert str(verdict(found, chain(1))).startswith("unexpected-witness")


def test_genesis_has_no_context() -> None:
    assert verdict(REGTEST.genesis, None) is None
