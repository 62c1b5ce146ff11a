"""Measures the header index: its memory, the time to load it from a SQLite store, and the walks over it.

    python tests/bench/bench_header_index.py FOLDER
    python tests/bench/bench_header_index.py FOLDER --trace     memory as Python counts it; slow

Owns: made-up headers, the measurements and their table. Never: a promise about another machine.
The first run fills the store (a minute); later ones find it filled. Times are CPU seconds of this process.
"""

import argparse
import gc
import hashlib
import resource
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clarion.node.chain.active_chain import ActiveChain
from clarion.node.chain.block_index import SEQUENCE_BEST_CHAIN_FROM_DISK, BlockIndex, BlockIndexEntry
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage import block_status
from clarion.node.storage.chain_store import ChainStore
from clarion.node.storage.database import open_database
from clarion.node.storage.rows import BlockRow, ChainCommit

STEP = 5_000
STATUS = block_status.VALID_SCRIPTS | block_status.HAVE_MASK | block_status.OPT_WITNESS
STALE_EVERY = 2_000


@dataclass(frozen=True)
class Regtest:
    """A network, as far as storage knows one."""

    name: str = "regtest"
    magic: bytes = b"\xfa\xbf\xb5\xda"


def rows(count: int) -> Iterator[tuple[BlockRow, bool]]:
    """Yield made-up headers with their blocks' places, and whether each is on the active chain."""
    prev, work = bytes(32), 0
    for height in range(count - count // STALE_EVERY):
        work += 1 << 80
        row = _row(prev, height, work, 0)
        yield row, True
        if height % STALE_EVERY == STALE_EVERY - 1:
            yield _row(prev, height, work, 1), False
        prev = row.hash


def _row(prev: bytes, height: int, work: int, nonce: int) -> BlockRow:
    root = hashlib.sha256(b"%d" % height).digest()
    header = struct.pack("<i32s32sIII", 0x20000000, prev, root, 1_231_006_505 + 600 * height, 0x1703FFFF, nonce)
    file, place = divmod(height, 100)
    place *= 1_300_000
    block_hash = BlockHash(sha256d(header))
    return BlockRow(
        block_hash, header, height, work, STATUS, 2_000, 2_000 * (height + 1), file, place, 1_300_000, place, 200_000
    )


def fill(chain: ChainStore, count: int) -> None:
    """Store `count` headers, unless some are there."""
    if chain.count_blocks():
        return
    step: list[tuple[BlockRow, bool]] = []

    def store() -> None:
        connect = [(row.height, row.hash) for row, active in step if active]
        chain.commit(ChainCommit(blocks=[row for row, _ in step], connect=connect))
        step.clear()

    for pair in rows(count):
        step.append(pair)
        if len(step) == STEP:
            store()
    store()


def memory_mib() -> float:
    """Return this process's memory that no file lies behind (SQLite maps its file)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def timed(what: str, call: Callable[[], object], times: int = 1) -> None:
    """Run `call` and print the CPU time of one call."""
    start = cpu()
    for _ in range(times):
        call()
    print(f"{what:<52}{(cpu() - start) / times:>12.6f} s", flush=True)


def cpu() -> float:
    """Return the CPU seconds that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def load(chain: ChainStore) -> tuple[BlockIndex, ActiveChain]:
    """Load the index and the active chain, as the node does at start."""
    index = BlockIndex()
    active = ActiveChain(index)
    timed("load headers", lambda: index.load(chain.block_pages(), chain.count_blocks()))
    timed("load active chain", lambda: active.load(chain.active_pages(), SEQUENCE_BEST_CHAIN_FROM_DISK))
    return index, active


def measure(index: BlockIndex, active: ActiveChain) -> None:
    """Time what a start, a block and a verdict ask of the index."""
    tip = active.tip
    low = active.at(10)
    assert low is not None

    def walk(entries: Iterator[BlockIndexEntry]) -> int:
        return sum(1 for _ in entries)

    timed("last positions in the files", lambda: (index.last_block(), index.last_undo()))
    timed("best header, candidates, unlinked blocks", lambda: (
        index.best_valid(tip), walk(index.connectable(tip.chainwork)), walk(index.unlinked())
    ))  # fmt: skip
    timed("leaves", index.leaves, 10)
    timed("descendants of a block near genesis", lambda: walk(index.descendants(low)))
    timed("descendants of the tip's parent", lambda: walk(index.descendants(tip.prev or tip)), 10)
    timed("ancestor at a third of the height", lambda: tip.ancestor(tip.height // 3), 10_000)
    timed("median time past of the tip", tip.median_time_past, 10_000)
    timed("look-up by hash", lambda: index.get(low.hash), 10_000)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where the store is kept")
    parser.add_argument("--headers", type=int, default=900_000)
    parser.add_argument("--trace", action="store_true", help="count memory with tracemalloc")
    arguments = parser.parse_args()
    with open_database(None, arguments.folder, Regtest()) as database:
        timed("fill", lambda: fill(database.chain, arguments.headers))
        gc.collect()
        if arguments.trace:
            tracemalloc.start()
        before = memory_mib()
        index, active = load(database.chain)
        print(f"{len(index):,} headers, {len(index.leaves()):,} branches, tip at {active.height:,}")
        if arguments.trace:
            now, peak = (size / 2**20 for size in tracemalloc.get_traced_memory())
            print(f"memory {now:.1f} MiB, {peak:.1f} MiB while loading")
        else:
            print(f"memory {memory_mib() - before:.1f} MiB")
            measure(index, active)


if __name__ == "__main__":
    main()
