"""Cutting a block's checks into batches, and claiming them."""

import threading

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.batches import MAX_CUTS, Batch, Claims, make_batches


def job(index: int, inputs: int) -> ScriptJob:
    txins = [TxIn(OutPoint(bytes(32) + i.to_bytes(4, "little"))) for i in range(inputs)]
    return ScriptJob(Transaction(2, txins, [TxOut(1, b"")]), [Coin(1, b"", 0)] * inputs, index)


def shape(batches: list[Batch]) -> list[list[tuple[int, int, int, int]]]:
    return [[(unit.job.tx_index, unit.first, unit.end, unit.position) for unit in batch] for batch in batches]


def test_whole_transactions_fill_a_batch() -> None:
    batches = make_batches([job(1, 2), job(2, 1), job(3, 2), job(4, 1)], 3)
    assert shape(batches) == [[(1, 0, 2, 0), (2, 0, 1, 2)], [(3, 0, 2, 3), (4, 0, 1, 5)]]


def test_large_transaction_is_cut() -> None:
    batches = make_batches([job(1, 1), job(2, 5)], 2)
    assert shape(batches) == [[(1, 0, 1, 0), (2, 0, 2, 1)], [(2, 2, 4, 1)], [(2, 4, 5, 1)]]


def test_cuts_are_bounded() -> None:
    batches = make_batches([job(1, 1000)], 2)
    assert len(batches) == MAX_CUTS
    assert [unit.first for batch in batches for unit in batch] == list(range(0, 1000, 63))


def test_bytes_end_a_batch_too() -> None:
    jobs = [job(1, 1), job(2, 1), job(3, 1)]
    assert len(make_batches(jobs, 100, max_bytes=len(jobs[0].tx.raw) + 1)) == 2


def test_no_jobs_no_batches() -> None:
    assert make_batches([], 10) == []


def test_every_batch_is_claimed_once() -> None:
    batches = make_batches([job(i, 1) for i in range(1000)], 1)
    claims = Claims(batches)
    claimed: list[Batch] = []

    def work() -> None:
        while (batch := claims.claim()) is not None:
            claimed.append(batch)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(batch[0].job.tx_index for batch in claimed) == list(range(1000))
