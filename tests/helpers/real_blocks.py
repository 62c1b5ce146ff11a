"""Real blocks with the outputs that they spend, as script jobs.

Owns: reading the files. Never: checking.
"""

import lzma
import struct
from pathlib import Path
from typing import NamedTuple

from clarion.node.consensus.connect import ScriptJob
from clarion.node.consensus.deployments import script_flags_at
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.codec import read_compact_size, read_var_bytes
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.transaction import Transaction, TxIn

BLOCKS = {
    "mainnet-300025": ("main", 300025, 1427),
    "testnet3-928816": ("test", 928816, 8692),
    "testnet3-928828": ("test", 928828, 1972),
    "testnet3-928831": ("test", 928831, 9984),
    "testnet3-928848": ("test", 928848, 11215),
}
"""File name → (chain, height, inputs without the coinbase's)."""


class RealBlock(NamedTuple):
    """A block with its script jobs and the flags of its height."""

    block: Block
    jobs: list[ScriptJob]
    flags: int

    @property
    def input_count(self) -> int:
        """Inputs that are checked."""
        return sum(len(job.spent_outputs) for job in self.jobs)


def load_real_block(folder: Path, name: str) -> RealBlock:
    """Return the block `name` of `BLOCKS` from `folder`."""
    chain, height, _ = BLOCKS[name]
    block = Block.parse(lzma.decompress((folder / f"{name}.block.xz").read_bytes()))
    spent = parse_spent(lzma.decompress((folder / f"{name}.spent.xz").read_bytes()))
    jobs = [
        ScriptJob(tx, coins, index) for index, (tx, coins) in enumerate(zip(block.txs, spent, strict=True)) if index
    ]
    return RealBlock(block, jobs, script_flags_at(height, block.hash, select_params(chain)))


def parse_spent(data: bytes) -> list[list[Coin]]:
    """Return the outputs that each transaction spends from the bytes of /rest/spenttxouts."""
    count, at = read_compact_size(data, 0)
    lists = []
    for _ in range(count):
        size, at = read_compact_size(data, at)
        coins = []
        for _ in range(size):
            (value,) = struct.unpack_from("<q", data, at)
            script, at = read_var_bytes(data, at + 8)
            coins.append(Coin(value, script, 0))
        lists.append(coins)
    assert at == len(data)
    return lists


def flip_signature_byte(jobs: list[ScriptJob], tx_index: int, input_index: int) -> list[ScriptJob]:
    """Return the jobs with a byte of the first signature of one input flipped, in its witness or else its script_sig."""
    changed = []
    for job in jobs:
        if job.tx_index == tx_index:
            inputs = list(job.tx.inputs)
            inputs[input_index] = _flipped(inputs[input_index])
            tx = Transaction(job.tx.version, inputs, job.tx.outputs, job.tx.lock_time)
            job = ScriptJob(tx, job.spent_outputs, tx_index)
        changed.append(job)
    return changed


def _flipped(txin: TxIn) -> TxIn:
    if txin.witness:
        place = next(i for i, item in enumerate(txin.witness) if len(item) >= 64)
        item = bytearray(txin.witness[place])
        item[20] ^= 1
        witness = (*txin.witness[:place], bytes(item), *txin.witness[place + 1 :])
        return TxIn(txin.prevout, txin.script_sig, txin.sequence, witness)
    script = bytearray(txin.script_sig)
    script[20] ^= 1
    return TxIn(txin.prevout, bytes(script), txin.sequence)
