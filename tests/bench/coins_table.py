"""A data directory whose coins table already holds millions of coins, for measurements at a busy chain's size.

Owns: filling it once and copying it for each run; the blocks that spend from it. Never: measuring.
"""

import random
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.bench_coins import coin, outpoint
from bench.chain_run import open_chain
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers import chain_builder as build
from helpers.chain_builder import Built, make_block

STEP = 500_000
TXS = 2_500
P2WPKH = b"\x00\x14" + bytes(20)


def filled_folder(work: Path, count: int) -> Path:
    """Return a folder with a chain of genesis alone and `count` made-up coins; one that is there is taken."""
    folder = work / f"coins-{count}"
    done = folder / "filled"
    if done.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    with ExitStack() as stack:
        run = open_chain(folder, stack, par=1)
        tip = run.manager.tip.hash
        for first in range(0, count, STEP):
            run.database.coins.flush({outpoint(n): coin(n) for n in range(first, min(first + STEP, count))}, tip)
    done.touch()
    print(f"filled a table with {count:,} coins in {time.perf_counter() - started:.0f} s", flush=True)
    return folder


def copy_of(folder: Path, work: Path) -> Path:
    """Return a copy that may be written to."""
    copy = work / "coins-copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    return copy


def spending_blocks(count: int, coins: int, seed: int = 1) -> Iterator[bytes]:
    """Yield `count` full blocks without signatures.

    Each transaction spends a coin of the table that nothing has touched yet and an output of the block before, and
    makes two outputs: one for the next block, one that stays.
    """
    picked = iter(random.Random(seed).sample(range(coins), count * TXS + TXS))
    prev: Built = build.genesis()
    recent: list[tuple[OutPoint, int]] = [(outpoint(n), coin(n).value) for n in (next(picked) for _ in range(TXS))]
    for _ in range(count):
        txs = []
        for other, amount in recent:
            number = next(picked)
            total = coin(number).value + amount
            inputs = [TxIn(outpoint(number)), TxIn(other)]
            txs.append(Transaction(2, inputs, [TxOut(total // 2, P2WPKH), TxOut(total - total // 2, P2WPKH)], 0))
        recent = [(make_outpoint(tx.txid, 0), tx.outputs[0].value) for tx in txs]
        built = make_block(prev, txs)
        assert built.block is not None
        yield built.block.raw
        prev = Built(built.hash, built.height, built.time)
