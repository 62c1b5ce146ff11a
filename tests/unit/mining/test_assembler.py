"""Which chunks of a pool become part of a block: limits, fee rates, finality and giving up."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mining.assembler import Selection, select_transactions
from clarion.node.mining.options import MiningOptions
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

HEIGHT, CUTOFF = 200, 1_600_000_000
RICH = 10**8


@dataclass
class Entry:
    tx: Transaction
    base_fee_sat: int = 1000
    modified_fee_sat: int = 1000
    sigop_cost: int = 0

    @property
    def vsize(self) -> int:
        return self.tx.vsize


@dataclass
class Rate:
    fee: int
    size: int


class Chunks:
    """Chunks in the order in which the test wrote them down, and what became of each."""

    def __init__(self, *chunks: tuple[Sequence[Entry], Rate]) -> None:
        self._chunks = list(chunks)
        self.fates = ""

    def current_chunk(self) -> tuple[Sequence[Entry], Rate] | None:
        at = len(self.fates)
        return self._chunks[at] if at < len(self._chunks) else None

    def include(self) -> None:
        self.fates += "+"

    def skip(self) -> None:
        self.fates += "-"


def entry(number: int, *, lock_time: int = 0, sigops: int = 0, size: int = 0) -> Entry:
    txin = TxIn(OutPoint(number.to_bytes(36, "big")), b"", 0xFFFFFFFE)
    return Entry(Transaction(2, [txin], [TxOut(1, bytes(size))], lock_time), sigop_cost=sigops)


def chunk(*entries: Entry, fee: int = RICH, weight: int | None = None) -> tuple[Sequence[Entry], Rate]:
    return entries, Rate(fee, weight or sum(entry.tx.weight for entry in entries))


def select(chunks: Chunks, **options: int) -> Selection:
    return select_transactions(chunks, HEIGHT, CUTOFF, MiningOptions(**options))


def test_chunks_follow_one_another_with_their_fees() -> None:
    first, second, third = (entry(i) for i in range(3))
    chunks = Chunks(chunk(first, second), chunk(third))
    selection = select(chunks)
    assert selection.entries == [first, second, third]
    assert selection.fees == 3000
    assert selection.weight == 8000 + 3 * first.tx.weight
    assert chunks.fates == "++"


def test_without_a_pool_nothing_is_chosen() -> None:
    selection = select_transactions(None, HEIGHT, CUTOFF, MiningOptions(reserved_weight=4000))
    assert (selection.entries, selection.fees, selection.weight, selection.sigop_cost) == ([], 0, 4000, 400)


@pytest.mark.parametrize(("free", "fits"), [(0, False), (1, True)])
def test_the_weight_limit_is_never_reached(free: int, fits: bool) -> None:
    only = entry(1)
    chunks = Chunks(chunk(only))
    select(chunks, max_weight=8000 + only.tx.weight + free)
    assert chunks.fates == ("+" if fits else "-")


def test_weight_of_a_chunk_counts_its_sigops_but_the_block_its_bytes() -> None:
    heavy, light = entry(1), entry(2)
    chunks = Chunks(chunk(heavy, weight=2000), chunk(light))
    selection = select(chunks, max_weight=8000 + 2000)
    assert chunks.fates == "-+"
    assert selection.weight == 8000 + light.tx.weight


@pytest.mark.parametrize(("sigops", "fits"), [(79_599, True), (79_600, False)])
def test_the_sigop_limit_is_never_reached(sigops: int, fits: bool) -> None:
    chunks = Chunks(chunk(entry(1, sigops=sigops - 10), entry(2, sigops=10)), chunk(entry(3)))
    select(chunks)
    assert chunks.fates == ("++" if fits else "-+")


@pytest.mark.parametrize(
    ("lock_time", "final"), [(HEIGHT - 1, True), (HEIGHT, False), (CUTOFF - 1, True), (CUTOFF, False)]
)
def test_transactions_that_are_not_final_are_left_out(lock_time: int, final: bool) -> None:
    chunks = Chunks(chunk(entry(1), entry(2, lock_time=lock_time)))
    assert len(select(chunks).entries) == (2 if final else 0)


@pytest.mark.parametrize(("fee", "mined"), [(1000, True), (999, False)])
def test_the_first_chunk_that_pays_too_little_ends_the_block(fee: int, mined: bool) -> None:
    # 4 x 1000 - 3 weight units are 1000 virtual bytes.
    chunks = Chunks(chunk(entry(1), fee=fee, weight=3997), chunk(entry(2)))
    select_transactions(chunks, HEIGHT, CUTOFF, MiningOptions(min_feerate=FeeRate(1000)))
    assert chunks.fates == ("++" if mined else "")


@pytest.mark.parametrize(("fill", "looked_at"), [(3999, 1001), (4000, 1002)])
def test_a_nearly_full_block_gives_up_after_a_thousand_failures(fill: int, looked_at: int) -> None:
    too_large = [chunk(entry(i), weight=4_000_000) for i in range(1001)]
    chunks = Chunks(*too_large, chunk(entry(5000)))
    select(chunks, max_weight=8000 + fill)
    assert len(chunks.fates) == looked_at


def test_a_success_in_between_starts_the_count_anew() -> None:
    too_large = [chunk(entry(i), weight=4_000_000) for i in range(1000)]
    chunks = Chunks(*too_large, chunk(entry(5000)), *too_large, chunk(entry(5001)))
    assert len(select(chunks, max_weight=8000 + 3999).entries) == 2
