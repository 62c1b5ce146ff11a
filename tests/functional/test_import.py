"""`clarion import` of files that are not as they should be."""

import subprocess
from pathlib import Path

from helpers import chain_builder as build
from helpers.blk_files import join_blocks
from helpers.node import run_program

MAGIC = bytes.fromhex("fabfb5da")
RAW = [built.block.raw for built in build.make_chain(build.genesis(), 20) if built.block is not None]


def load(folder: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run `clarion import`."""
    return run_program("import", str(source), "-regtest", f"-datadir={folder}", "-par=1")


def test_junk_is_skipped_and_told(tmp_path: Path) -> None:
    source = tmp_path / "blocks.dat"
    join_blocks(source, MAGIC, RAW)
    data = source.read_bytes()
    at = 8 + len(RAW[0])
    source.write_bytes(data[:at] + b"junk in between" + data[at:-1])
    done = load(tmp_path, source)
    assert done.returncode == 1
    assert done.stdout.startswith("19 blocks loaded, 0 known before, 0 refused; tip ")
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 2
    assert f"damaged at offset {at}: expected the network's magic" in errors[0]
    assert errors[0].endswith("; 15 bytes skipped")
    assert "the file ends inside a block" in errors[1]


def test_unknown_parents_are_no_refusals(tmp_path: Path) -> None:
    source = tmp_path / "blocks.dat"
    join_blocks(source, MAGIC, RAW[5:])
    done = load(tmp_path, source)
    assert done.returncode == 1
    assert done.stdout.startswith("0 blocks loaded, 0 known before, 0 refused, 15 with an unknown parent; tip ")
    assert "15 blocks without a known parent left out" in done.stderr
