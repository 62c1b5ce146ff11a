"""mempool.dat: both versions of the reference's format, and what becomes of damaged files."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from clarion.node.errors import DecodeError
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.persist import ImportOptions, MempoolReader, dump_mempool, load_mempool
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction
from helpers.pool import START, PoolFixture, make_tx, output

ABSENT = Txid(bytes(31) + b"\x01")
EXPIRY_S = 1000

EMPTY_V1 = bytes.fromhex("0100000000000000" + "0000000000000000" + "00" + "00")


def make_pool(*, v1: bool = False) -> PoolFixture:
    return PoolFixture(replace(MempoolOptions(), persist_v1=v1, expiry_s=EXPIRY_S))


def filled(*, v1: bool = False) -> PoolFixture:
    """Return a pool with a parent and its child, deltas of the child and of an absent one, and the child unbroadcast."""
    fixture = make_pool(v1=v1)
    parent = make_tx()
    child = make_tx(output(parent))
    fixture.add(parent, age_s=EXPIRY_S)
    fixture.add(child, 5000, age_s=EXPIRY_S - 1)
    fixture.pool.prioritise(child.txid, -300)
    fixture.pool.prioritise(ABSENT, 2**40)
    fixture.pool.add_unbroadcast(child.txid)
    return fixture


class Target:
    """Takes in what is offered, with the time."""

    def __init__(self, pool: Mempool) -> None:
        self.pool = pool
        self.offered: list[tuple[Transaction, int]] = []
        self.unbroadcast: Sequence[Txid] = []

    def accept_stored(self, tx: Transaction, time: int) -> bool:
        self.offered.append((tx, time))
        return True

    def prioritise(self, txid: Txid, delta_sat: int) -> None:
        self.pool.prioritise(txid, delta_sat)

    def add_unbroadcast(self, txids: Sequence[Txid]) -> None:
        self.unbroadcast = txids


def load(path: Path, options: ImportOptions | None = None) -> tuple[bool, Target]:
    target = Target(make_pool().pool)
    return load_mempool(target, path, options or ImportOptions(), lambda: False), target


@pytest.mark.parametrize("v1", [True, False], ids=["v1", "v2"])
def test_what_is_written_is_read_again(tmp_path: Path, v1: bool) -> None:
    fixture = filled(v1=v1)
    assert dump_mempool(fixture.pool, tmp_path / "mempool.dat")
    with (tmp_path / "mempool.dat").open("rb") as file:
        reader = MempoolReader(file)
        stored = list(reader.transactions())
        assert [(each.time, each.delta_sat) for each in stored] == [(START - 1000, 0), (START - 999, -300)]
        assert all(each.tx.txid in fixture.pool for each in stored)
        assert reader.deltas() == {ABSENT: 2**40}
        assert reader.unbroadcast() == [stored[1].tx.txid]
        assert file.read() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["mempool.dat"]


def test_version_1_is_plain_and_version_2_is_not(tmp_path: Path) -> None:
    path = tmp_path / "mempool.dat"
    dump_mempool(make_pool(v1=True).pool, path)
    assert path.read_bytes() == EMPTY_V1
    fixture = filled()
    dump_mempool(fixture.pool, path)
    data = path.read_bytes()
    assert data[:9] == bytes.fromhex("020000000000000008")
    assert all(entry.tx.raw not in data for entry in fixture.pool.entries.values())
    key = data[9:17]
    assert bytes(byte ^ key[(17 + at) % 8] for at, byte in enumerate(data[17:25])) == (2).to_bytes(8, "little")


def test_a_stored_pool_is_taken_in_but_for_what_has_expired(tmp_path: Path) -> None:
    fixture = filled()
    dump_mempool(fixture.pool, tmp_path / "mempool.dat")
    done, target = load(tmp_path / "mempool.dat")
    child = fixture.pool.sorted_entries()[1]
    assert done
    assert [(tx.txid, time) for tx, time in target.offered] == [(child.txid, START - 999)]
    assert target.pool.deltas == {child.txid: -300, ABSENT: 2**40}
    assert target.unbroadcast == [child.txid]


def test_an_import_takes_over_only_what_it_was_told_to(tmp_path: Path) -> None:
    dump_mempool(filled().pool, tmp_path / "mempool.dat")
    options = ImportOptions(use_current_time=True, apply_fee_delta_priority=False, apply_unbroadcast_set=False)
    done, target = load(tmp_path / "mempool.dat", options)
    assert done
    assert [time for _, time in target.offered] == [START, START]
    assert not target.pool.deltas
    assert target.unbroadcast == []


def test_what_stands_before_a_cut_is_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "mempool.dat"
    dump_mempool(filled().pool, path)
    path.write_bytes(path.read_bytes()[:-70])
    done, target = load(path, ImportOptions(use_current_time=True))
    assert not done
    assert len(target.offered) == 2


@pytest.mark.parametrize("data", [b"", EMPTY_V1[:15], b"\x03" + EMPTY_V1[1:], b"\x02" + bytes(7) + b"\x07" + bytes(30)])
def test_what_is_no_stored_pool_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DecodeError):
        MempoolReader(io.BytesIO(data))
    (tmp_path / "mempool.dat").write_bytes(data)
    assert load(tmp_path / "mempool.dat")[0] is False
    assert load(tmp_path / "absent")[0] is False


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "mempool.dat"
    path.write_bytes(b"old")
    (tmp_path / "mempool.dat.new").mkdir()
    assert not dump_mempool(filled().pool, path)
    assert path.read_bytes() == b"old"
