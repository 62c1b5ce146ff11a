"""Loading block files in any state through a real chain thread."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from clarion.node.chain.loader import MAX_LINES, BlockLoader, LoadReport
from clarion.node.chain.service import ChainService
from clarion.node.storage.xor_key import apply_xor
from helpers.chain_builder import Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode

MAGIC = bytes.fromhex("fabfb5da")
KEY = bytes(range(1, 9))


def record(built: Built) -> bytes:
    assert built.block is not None
    return MAGIC + len(built.block.raw).to_bytes(4, "little") + built.block.raw


def write(path: Path, blocks: Sequence[Built], key: bytes | None = None) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(apply_xor(b"".join(map(record, blocks)), key, 0))
    return path


Load = Callable[..., LoadReport]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ChainNode]:
    node = ChainNode(tmp_path / "data")
    yield node
    node.close()


@pytest.fixture
def load(node: ChainNode) -> Iterator[Load]:
    service = ChainService(node.manager, on_fatal=lambda error: None)
    service.start()
    yield lambda *files: BlockLoader(service).load(files)
    service.stop()


CHAIN = make_chain(genesis(), 40)


@pytest.mark.parametrize("step", [-1, 7, 13], ids=["backwards", "stride-7", "stride-13"])
def test_blocks_out_of_order_over_two_files(tmp_path: Path, node: ChainNode, load: Load, step: int) -> None:
    mixed = [CHAIN[i * step % 40] for i in range(1, 41)]
    first, second = write(tmp_path / "a.dat", mixed[:25]), write(tmp_path / "b.dat", mixed[25:])
    report = load(first, second)
    assert report.complete
    assert report.loaded == 40
    assert node.tip == CHAIN[-1].hash


def test_obfuscated_folder_out_of_order(tmp_path: Path, node: ChainNode, load: Load) -> None:
    path = write(tmp_path / "blocks" / "blk00000.dat", [*CHAIN[20:], *CHAIN[:20]], KEY)
    (path.parent / "xor.dat").write_bytes(KEY)
    assert load(path).loaded == 40
    assert node.tip == CHAIN[-1].hash


def test_second_load_knows_all(tmp_path: Path, load: Load) -> None:
    path = write(tmp_path / "a.dat", CHAIN)
    load(path)
    report = load(path)
    assert (report.loaded, report.known, report.complete) == (0, 40, True)


def test_missing_parent_is_told_once(tmp_path: Path, node: ChainNode, load: Load) -> None:
    report = load(write(tmp_path / "a.dat", [*CHAIN[:10], *CHAIN[11:]]))
    assert node.tip == CHAIN[9].hash
    assert (report.refused, report.left_out, report.without_parent) == (0, 0, 29)
    assert report.summary() == "10 blocks loaded, 0 known before, 0 refused, 29 with an unknown parent"
    assert [line.partition(" (")[0] for line in report.lines] == ["29 blocks without a known parent left out"]


def test_descendants_of_a_refused_block_are_summed_up(tmp_path: Path, node: ChainNode, load: Load) -> None:
    bad = make_block(CHAIN[9], fees=1)
    branch = make_chain(bad, 20)
    report = load(write(tmp_path / "a.dat", [*CHAIN[:10], bad, *branch]))
    assert (report.refused, report.left_out) == (1, 20)
    offset = sum(len(record(built)) for built in CHAIN[:10]) + 8
    assert report.lines[0].startswith(f"{tmp_path / 'a.dat'}, offset {offset}: block ")
    assert "refused: bad-cb-amount" in report.lines[0]
    assert report.lines[1:] == ["20 blocks that build on refused ones left out"]
    assert node.tip == CHAIN[9].hash


def test_damage_between_records_is_skipped_and_told(tmp_path: Path, node: ChainNode, load: Load) -> None:
    path = tmp_path / "a.dat"
    first = b"".join(map(record, CHAIN[:5]))
    path.write_bytes(b"".join([first, b"some garbage", *map(record, CHAIN[5:])]))
    report = load(path)
    assert node.tip == CHAIN[-1].hash
    assert not report.complete
    reason = "expected the network's magic fabfb5da, found 736f6d65"
    assert report.faults == [f"{path}: damaged at offset {len(first)}: {reason}; 12 bytes skipped"]


def test_block_that_can_not_be_decoded_is_passed_over(tmp_path: Path, node: ChainNode, load: Load) -> None:
    """A copy of it behind the damaged one is as good."""
    damaged = bytearray(record(CHAIN[2]))
    damaged[8 + 80] = 0xFD
    path = tmp_path / "a.dat"
    path.write_bytes(b"".join([*map(record, CHAIN[:2]), damaged, *map(record, CHAIN[2:])]))
    (fault,) = load(path).faults
    assert "can't be decoded" in fault
    assert fault.endswith(f"; {len(damaged) - 8} bytes skipped")
    assert node.tip == CHAIN[-1].hash


def test_truncated_last_block_is_told(tmp_path: Path, node: ChainNode, load: Load) -> None:
    path = write(tmp_path / "a.dat", CHAIN)
    path.write_bytes(path.read_bytes()[:-10])
    size = len(record(CHAIN[-1]))
    (fault,) = load(path).faults
    assert fault.endswith(f"the file ends inside a block ({size - 18} of {size - 8} bytes); {size - 10} bytes skipped")
    assert node.tip == CHAIN[-2].hash


def test_many_damaged_places_are_summed_up(tmp_path: Path, node: ChainNode, load: Load) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(b"junk" + b"junk".join(map(record, CHAIN)))
    report = load(path)
    assert report.loaded == 40
    assert report.faults[MAX_LINES:] == [f"{40 - MAX_LINES} more damaged places"]


def test_true_copy_behind_a_mutated_one(tmp_path: Path, node: ChainNode, load: Load) -> None:
    """The mutated copy has the hash of the true one: its children wait for that."""
    at = bytearray(record(CHAIN[3]))
    at[-1] ^= 1
    path = tmp_path / "a.dat"
    rest = map(record, [*CHAIN[4:], CHAIN[3]])
    path.write_bytes(b"".join([*map(record, CHAIN[:3]), bytes(at), *rest]))
    report = load(path)
    assert report.refused == 1
    assert node.tip == CHAIN[-1].hash
