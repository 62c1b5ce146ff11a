"""The script cache: exact keys, a bound, and the jobs that it leaves out."""

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import NULL_OUTPOINT, Wtxid
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.script_cache import BYTES_PER_ENTRY, ScriptCache


def wtxid(number: int) -> Wtxid:
    return Wtxid(number.to_bytes(32, "little"))


def test_key_is_wtxid_and_flags() -> None:
    cache = ScriptCache(1 << 20)
    cache.add(wtxid(1), 5)
    assert cache.contains(wtxid(1), 5)
    assert not cache.contains(wtxid(1), 4)
    assert not cache.contains(wtxid(2), 5)


def test_oldest_entry_makes_room() -> None:
    cache = ScriptCache(3 * BYTES_PER_ENTRY)
    for number in (1, 2, 3, 1, 4):
        cache.add(wtxid(number), 0)
    assert len(cache) == 3
    assert [number for number in range(1, 5) if cache.contains(wtxid(number), 0)] == [1, 3, 4]


def test_discard() -> None:
    cache = ScriptCache(1 << 20)
    cache.add(wtxid(1), 5)
    cache.discard([wtxid(1), wtxid(2)], 5)
    assert len(cache) == 0


def test_known_transactions_are_left_out() -> None:
    txs = [Transaction(2, [TxIn(NULL_OUTPOINT, bytes((i,)))], [TxOut(1, b"")]) for i in range(3)]
    jobs = [ScriptJob(tx, [Coin(1, b"", 0)], index) for index, tx in enumerate(txs)]
    cache = ScriptCache(1 << 20)
    cache.add(txs[1].wtxid, 7)
    assert [job.tx_index for job in cache.unknown(jobs, 7)] == [0, 2]
    assert [job.tx_index for job in cache.unknown(jobs, 8)] == [0, 1, 2]
