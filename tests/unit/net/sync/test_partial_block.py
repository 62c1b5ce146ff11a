"""Putting a block together from its compact form and what is at hand."""

import pytest

from clarion.node.net.messages.compact import CompactBlock, Prefilled, ShortIds
from clarion.node.net.sync.partial_block import Filling, PartialBlock
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import genesis, make_block


def payment(number: int) -> Transaction:
    return Transaction(2, [TxIn(OutPoint(bytes(35) + bytes((number,))), b"", 0)], [TxOut(number, b"\x51")], 0)


PAYMENTS = [payment(number) for number in range(1, 6)]


@pytest.fixture(scope="module")
def block() -> Block:
    built = make_block(genesis(), PAYMENTS).block
    assert built is not None
    return built


@pytest.fixture
def compact(block: Block) -> CompactBlock:
    return CompactBlock.of_block(block, 7)


def test_everything_is_at_hand(block: Block, compact: CompactBlock) -> None:
    partial = PartialBlock()
    assert partial.begin(compact, [*PAYMENTS[:3], payment(99)], PAYMENTS[3:]) is Filling.OK
    assert partial.missing == []
    filling, filled = partial.fill((), segwit_active=True)
    assert filling is Filling.OK
    assert filled is not None
    assert filled.raw == block.raw


def test_what_is_missing_is_asked_for(block: Block, compact: CompactBlock) -> None:
    partial = PartialBlock()
    partial.begin(compact, PAYMENTS[1:3], ())
    assert partial.missing == [1, 4, 5]
    filling, filled = partial.fill([PAYMENTS[0], *PAYMENTS[3:]], segwit_active=True)
    assert (filling, filled is not None and filled.raw == block.raw) == (Filling.OK, True)
    assert partial.fill((), segwit_active=True) == (Filling.INVALID, None)


def test_wrong_transactions_do_not_pass(compact: CompactBlock) -> None:
    partial = PartialBlock()
    partial.begin(compact, PAYMENTS[1:], ())
    assert partial.fill([payment(99)], segwit_active=True) == (Filling.FAILED, None)
    assert partial.is_used


@pytest.mark.parametrize("count", [0, 2], ids=["too-few", "too-many"])
def test_a_wrong_number_of_transactions(compact: CompactBlock, count: int) -> None:
    partial = PartialBlock()
    partial.begin(compact, PAYMENTS[1:], ())
    assert partial.fill(PAYMENTS[:count], segwit_active=True) == (Filling.INVALID, None)


def test_two_that_match_one_id_are_asked_for(compact: CompactBlock, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = compact.short_ids[0]
    original = ShortIds.of
    double = payment(77)
    monkeypatch.setattr(ShortIds, "of", lambda self, wtxid: wanted if wtxid == double.wtxid else original(self, wtxid))
    partial = PartialBlock()
    partial.begin(compact, [double, *PAYMENTS], ())
    assert partial.missing == [1]


def test_malformed_compact_blocks(compact: CompactBlock) -> None:
    empty = CompactBlock(compact.header, 0, (), ())
    hole = CompactBlock(compact.header, 0, compact.short_ids, (Prefilled(9, PAYMENTS[0]),))
    repeated = CompactBlock(compact.header, 0, (1, 1), compact.prefilled)
    assert [PartialBlock().begin(each, (), ()) for each in (empty, hole, repeated)] == [
        Filling.INVALID,
        Filling.INVALID,
        Filling.FAILED,
    ]
