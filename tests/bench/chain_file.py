"""The chain that the benchmarks load: full blocks with real signatures, in one blk file.

Owns: making the file, by the shared tool where it is and else a smaller one here; reading it. Never: validation.
"""

import subprocess
import sys
from pathlib import Path

from clarion.node.params.chain_params import select_params
from clarion.node.primitives.transaction import Transaction, TxOut
from helpers import chain_builder as build
from helpers.blk_files import join_blocks, split_blocks
from helpers.chain_builder import COIN, Built, make_block, spendable
from helpers.shared import have_shared, shared_root
from helpers.signing import Key, sign

MAGIC = b"\xfa\xbf\xb5\xda"
FAN_OUT = 1_000


def make_chain_file(folder: Path, blocks: int) -> tuple[Path, str]:
    """Return (path, what it is) of a chain with `blocks` full blocks; one that `folder` holds already is taken."""
    path = folder / f"chain-{blocks}.dat"
    if have_shared("tools", "make_chain.py"):
        tool = shared_root() / "tools" / "make_chain.py"
        if not path.exists():
            part = path.with_suffix(".part")
            subprocess.run([sys.executable, str(tool), str(part), f"--blocks={blocks}"], check=True)
            part.rename(path)
        return path, f"make_chain.py --blocks {blocks}"
    if not path.exists():
        genesis = select_params("regtest").genesis.raw
        join_blocks(path, MAGIC, [genesis, *_small_chain(min(blocks, 10))])
    return path, f"{min(blocks, 10)} blocks of 1,000 transactions (P2WPKH, P2TR, P2PKH), made by the bench"


def _small_chain(count: int) -> list[bytes]:
    key = Key(7)
    kinds = (key.wpkh, key.tr, key.pkh)
    built: list[Built] = build.make_chain(build.genesis(), build.COINBASE_MATURITY + 2 * count)
    coins = []
    for old in built[: 2 * count]:
        outpoint, output = old.coinbase_output()
        outputs = [TxOut(50 * COIN // FAN_OUT, kinds[number % 3]) for number in range(FAN_OUT)]
        tx = Transaction(2, sign(key, [(outpoint, output)], outputs), outputs, 0)
        coins += [spendable(tx, number) for number in range(FAN_OUT)]
        built.append(make_block(built[-1], [tx]))
    for number in range(count):
        txs = []
        for at in range(number * 2 * FAN_OUT, (number + 1) * 2 * FAN_OUT, 2):
            spent = coins[at : at + 2]
            outputs = [TxOut(output.value, kinds[at % 3]) for _, output in spent]
            txs.append(Transaction(2, sign(key, spent, outputs), outputs, 0))
        built.append(make_block(built[-1], txs))
    return [block.block.raw for block in built if block.block is not None]


def read_blocks(path: Path) -> list[bytes]:
    """Return the raw blocks of the file behind genesis."""
    return split_blocks(path)[1:]
