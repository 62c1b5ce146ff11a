"""Scanning block files in any state."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from clarion.node.errors import BlockFileError
from clarion.node.storage.blk_reader import BlkFile, ScannedBlock, block_paths, scan_blocks
from clarion.node.storage.xor_key import apply_xor

MAGIC = b"\xfa\xbf\xb5\xda"
BLOCKS = [bytes([number]) * (80 + number) for number in (1, 2, 3)]


def record(raw: bytes) -> bytes:
    return MAGIC + len(raw).to_bytes(4, "little") + raw


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "blk00000.dat"


def scan_until_fault(path: Path) -> tuple[list[bytes], str]:
    found = []
    try:
        for block in scan_blocks(path, MAGIC):
            found.append(block.raw)
    except BlockFileError as error:
        return found, str(error)
    return found, ""


def test_records_with_offsets(path: Path) -> None:
    path.write_bytes(b"".join(map(record, BLOCKS)))
    assert list(scan_blocks(path, MAGIC)) == [
        ScannedBlock(8, BLOCKS[0]),
        ScannedBlock(8 + 81 + 8, BLOCKS[1]),
        ScannedBlock(8 + 81 + 8 + 82 + 8, BLOCKS[2]),
    ]


@pytest.mark.parametrize("zeros", [1, 3, 4, 7, 8, 9, 70_000])
def test_zeros_between_and_behind_records_are_skipped(path: Path, zeros: int) -> None:
    padding = bytes(zeros)
    path.write_bytes(padding.join([b"", *map(record, BLOCKS), b""]))
    assert scan_until_fault(path) == (BLOCKS, "")


def test_empty_file_has_no_records(path: Path) -> None:
    path.write_bytes(b"")
    assert scan_until_fault(path) == ([], "")


GOOD = record(BLOCKS[0]) + record(BLOCKS[1])
FAULTS = {
    "garbage": (b"garbage-garbage", "expected the network's magic fabfb5da, found 67617262"),
    "other-network": (b"\xf9\xbe\xb4\xd9" + bytes(100), "found f9beb4d9"),
    "inside-frame": (MAGIC + b"\x50", "ends inside a record's frame (5 of 8 bytes)"),
    "inside-magic": (MAGIC[:3], "ends inside a record's frame (3 of 8 bytes)"),
    "inside-block": (record(BLOCKS[2])[:-1], "ends inside a block (82 of 83 bytes)"),
    "too-short": (MAGIC + b"\x4f\0\0\0" + bytes(79), "79 bytes can't be a block"),
    "too-long": (MAGIC + (4_000_001).to_bytes(4, "little"), "4000001 bytes can't be a block"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_everything_before_the_fault_then_offset_and_reason(path: Path, fault: str) -> None:
    tail, reason = FAULTS[fault]
    path.write_bytes(GOOD + tail)
    found, error = scan_until_fault(path)
    assert found == BLOCKS[:2]
    assert error.startswith(f"{path}: damaged at offset {len(GOOD)}: ")
    assert reason in error


@pytest.mark.parametrize("fault", FAULTS)
def test_skipping_damage_finds_what_lies_behind(path: Path, fault: str) -> None:
    tail, _ = FAULTS[fault]
    path.write_bytes(GOOD + (tail if fault != "inside-block" else b"\xfa\xbf") + record(BLOCKS[2]))
    assert [block.raw for block in scan_blocks(path, MAGIC, skip_damage=True)] == BLOCKS


def test_skipping_damage_finds_a_magic_across_chunks(path: Path) -> None:
    path.write_bytes(b"\x01" * (64 * 1024 - 1) + record(BLOCKS[0]))
    assert [block.raw for block in scan_blocks(path, MAGIC, skip_damage=True)] == BLOCKS[:1]


def test_skipped_bytes_are_told_once_for_each_gap(path: Path) -> None:
    """Magics inside of the damage are part of it."""
    junk = MAGIC + b"\xff" * 40 + MAGIC + b"\xff" * 20
    path.write_bytes(GOOD + junk + record(BLOCKS[2]) + b"end")
    told: list[str] = []
    with BlkFile(path, MAGIC) as file:
        found = list(file.records(skip_damage=True, on_skipped=told.append))
    assert len(found) == 3
    assert told[0].startswith(f"{path}: damaged at offset {len(GOOD)}: ")
    assert [line.rpartition("; ")[2] for line in told] == ["68 bytes skipped", "3 bytes skipped"]


def test_scanning_can_start_at_a_record(path: Path) -> None:
    path.write_bytes(GOOD)
    assert [block.raw for block in scan_blocks(path, MAGIC, start=89)] == BLOCKS[1:2]


def test_key_beside_the_file_is_applied(path: Path) -> None:
    key = b"\x01\x02\x03\x04\x05\x06\x07\x08"
    (path.parent / "xor.dat").write_bytes(key)
    path.write_bytes(apply_xor(GOOD + bytes(16), key, 0))
    assert scan_until_fault(path) == (BLOCKS[:2], "")


def test_missing_file_is_named(path: Path) -> None:
    assert scan_until_fault(path) == ([], f"{path}: No such file or directory")


def test_folder_means_its_block_files(tmp_path: Path) -> None:
    with pytest.raises(BlockFileError, match=r"no blk\*\.dat"):
        block_paths(tmp_path)
    for name in ("blk00001.dat", "blk00000.dat", "rev00000.dat", "xor.dat"):
        (tmp_path / name).touch()
    assert [path.name for path in block_paths(tmp_path)] == ["blk00000.dat", "blk00001.dat"]
    assert block_paths(tmp_path / "xor.dat") == [tmp_path / "xor.dat"]


def test_real_mainnet_file(shared_path: Callable[..., Path], path: Path) -> None:
    path.write_bytes(lzma.decompress(shared_path("blocks", "mainnet-1-256.dat.xz").read_bytes()))
    blocks = list(scan_blocks(path, b"\xf9\xbe\xb4\xd9"))
    assert len(blocks) == 255
    assert blocks[0].raw[4:36][::-1].hex().startswith("000000000019d6689c08")


@pytest.mark.parametrize("zeros", [1, 7, 8, 9, 70_000])
def test_zeros_that_were_allocated_ahead_are_not_obfuscated(path: Path, zeros: int) -> None:
    key = bytes(range(0x11, 0x19))
    (path.parent / "xor.dat").write_bytes(key)
    data = b""
    for raw in BLOCKS:
        data += apply_xor(record(raw), key, len(data)) + bytes(zeros)
    path.write_bytes(data)
    assert scan_until_fault(path) == (BLOCKS, "")
