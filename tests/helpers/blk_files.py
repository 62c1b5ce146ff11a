"""Block files of ../shared: unpacked, split into blocks, and generated.

Owns: files in a test's folder. Never: validation.
"""

import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.session_files import made_once
from helpers.shared import shared_path

MAINNET_255 = "00000000d0a75c861fabf9ff7b92022f60e4afeed9331fe5aa073d8e4706fe3c"
MAINNET_COINS = {
    "txouts": 260,
    "hash_serialized_3": "507108bd18e2319f0a7102cfa1c7ffea10c9b1a47ff061d8098bc51a92e40241",
}
GENERATED_TIP = "1d202848b36d32a18a0d9455dd76bfa2ccfb6bb0b7089470acb8825356a3c1e1"
GENERATED_COINS = {
    "txouts": 15_128,
    "hash_serialized_3": "bfb0bc27170cd15526ef0e70b5487f6aa0831bb1b95ba7c7f6c8f0e8b5712790",
}


def mainnet_file(folder: Path) -> Path:
    """Unpack mainnet's blocks 1 to 255 into `folder` and return the blk file's path."""
    packed = shared_path("blocks", "mainnet-1-256.dat.xz")
    path = folder / "mainnet.dat"
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def split_blocks(path: Path) -> list[bytes]:
    """Return the raw blocks of a blk file."""
    data = path.read_bytes()
    blocks, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        blocks.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return blocks


def join_blocks(path: Path, magic: bytes, blocks: list[bytes]) -> None:
    """Write a blk file of raw blocks."""
    path.write_bytes(b"".join(magic + len(raw).to_bytes(4, "little") + raw for raw in blocks))


def generated_file(factory: pytest.TempPathFactory, *options: str) -> Path:
    """Return a blk file with the chain of full blocks that the shared tool makes by default; made once in a run."""
    tool = shared_path("tools", "make_chain.py")

    def make(folder: Path) -> None:
        command = [sys.executable, str(tool), str(folder / "chain.dat"), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return made_once(factory, "-".join(["generated", *(option.strip("-") for option in options)]), make) / "chain.dat"
