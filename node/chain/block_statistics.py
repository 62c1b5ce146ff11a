"""Statistics of one block, as `getblockstats` shows them.

Owns: what is counted, how it is rounded, and the form in which it is stored. Never: finding the block or its undo data.
Amounts are satoshis, fee rates satoshis per virtual byte, rounded down.
"""

import struct
from collections.abc import Sequence
from typing import Any

from clarion.node.consensus.bip30 import is_bip30_repeat_at
from clarion.node.consensus.constants import WITNESS_SCALE_FACTOR
from clarion.node.primitives.block import Block
from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.script import is_unspendable

UTXO_OVERHEAD_BYTES = 36 + 4
"""What an unspent output takes beside itself: its outpoint, and its height with the coinbase flag."""


STORE_NAME = "blockstats"
"""Name of the database of statistics by block hash."""

PERCENTILES = 5
_STORED = struct.Struct("<30q")
_LIST = "feerate_percentiles"


def encode_stats(stats: dict[str, Any]) -> bytes:
    """Return what `block_stats` returned in its stored form: each number in eight bytes, the percentiles last."""
    return _STORED.pack(*[stats[name] for name in _NUMBERS], *stats[_LIST])


def decode_stats(stored: bytes) -> dict[str, Any]:
    """Return what `encode_stats` was given."""
    numbers = _STORED.unpack(stored)
    found: dict[str, Any] = dict(zip(_NUMBERS, numbers[:-PERCENTILES], strict=True))
    found[_LIST] = list(numbers[-PERCENTILES:])
    return found


def block_stats(block: Block, spent: Sequence[Sequence[Coin]], height: int) -> dict[str, Any]:
    """Return the statistics that the block and what it spends decide; the others are its place in the chain.

    `spent[i]` is what transaction `i + 1` spends. Outputs that never enter the set of unspent outputs do not count
    there: those of genesis, and the coinbases of the two blocks that repeat another (BIP30).
    """
    in_set = height > 0
    coinbase_in_set = not is_bip30_repeat_at(height, block.hash)
    outputs = _OutputCount()
    fees: list[int] = []
    rates: list[tuple[int, int]] = []
    sizes: list[int] = []
    segwit_txs = segwit_size = segwit_weight = total_out = input_count = 0
    for index, tx in enumerate(block.txs):
        counted = in_set and (index > 0 or coinbase_in_set)
        value_out = outputs.add(tx.outputs, counted)
        if index == 0:
            continue
        input_count += len(tx.inputs)
        total_out += value_out
        size, weight = tx.size, tx.weight
        sizes.append(size)
        if tx.has_witness:
            segwit_txs += 1
            segwit_size += size
            segwit_weight += weight
        fee = outputs.take(spent[index - 1]) - value_out
        fees.append(fee)
        rates.append((fee * WITNESS_SCALE_FACTOR // weight, weight))
    total_weight = sum([weight for _, weight in rates])
    return {
        "avgfee": _average(sum(fees), len(fees)),
        "avgfeerate": _average(sum(fees) * WITNESS_SCALE_FACTOR, total_weight),
        "avgtxsize": _average(sum(sizes), len(sizes)),
        "feerate_percentiles": percentiles_by_weight(rates, total_weight),
        "ins": input_count,
        "maxfee": max(fees, default=0),
        "maxfeerate": max(rates, default=(0, 0))[0],
        "maxtxsize": max(sizes, default=0),
        "medianfee": truncated_median(fees),
        "mediantxsize": truncated_median(sizes),
        "minfee": min(fees, default=0),
        "minfeerate": min(rates, default=(0, 0))[0],
        "mintxsize": min(sizes, default=0),
        "outs": outputs.count,
        "swtotal_size": segwit_size,
        "swtotal_weight": segwit_weight,
        "swtxs": segwit_txs,
        "total_out": total_out,
        "total_size": sum(sizes),
        "total_weight": total_weight,
        "totalfee": sum(fees),
        "txs": len(block.txs),
        "utxo_increase": outputs.count - input_count,
        "utxo_size_inc": outputs.size_increase,
        "utxo_increase_actual": outputs.count_in_set - input_count,
        "utxo_size_inc_actual": outputs.size_increase_in_set,
    }


_NUMBERS = (
    "avgfee",
    "avgfeerate",
    "avgtxsize",
    "ins",
    "maxfee",
    "maxfeerate",
    "maxtxsize",
    "medianfee",
    "mediantxsize",
    "minfee",
    "minfeerate",
    "mintxsize",
    "outs",
    "swtotal_size",
    "swtotal_weight",
    "swtxs",
    "total_out",
    "total_size",
    "total_weight",
    "totalfee",
    "txs",
    "utxo_increase",
    "utxo_size_inc",
    "utxo_increase_actual",
    "utxo_size_inc_actual",
)
"""The numbers in the order in which they are stored."""


class _OutputCount:
    """How the block changes the set of unspent outputs: with all its outputs, and with those that enter the set."""

    def __init__(self) -> None:
        self.count = 0
        self.count_in_set = 0
        self.size_increase = 0
        self.size_increase_in_set = 0

    def add(self, outputs: Sequence[Any], counted: bool) -> int:
        """Count a transaction's outputs and return the sum of their values."""
        total = 0
        self.count += len(outputs)
        for txout in outputs:
            total += txout.value
            script = txout.script_pubkey
            size = _stored_size(script)
            self.size_increase += size
            if counted and not is_unspendable(script):
                self.count_in_set += 1
                self.size_increase_in_set += size
        return total

    def take(self, coins: Sequence[Coin]) -> int:
        """Count the outputs that a transaction spends and return the sum of their values."""
        size = sum([_stored_size(coin.script_pubkey) for coin in coins])
        self.size_increase -= size
        self.size_increase_in_set -= size
        return sum([coin.value for coin in coins])


def _stored_size(script: bytes) -> int:
    return 8 + len(compact_size(len(script))) + len(script) + UTXO_OVERHEAD_BYTES


def _average(total: int, count: int) -> int:
    return total // count if count else 0


def truncated_median(values: Sequence[int]) -> int:
    """Return the median, rounded down between two middle values; 0 of nothing."""
    if not values:
        return 0
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) // 2


def percentiles_by_weight(rates: Sequence[tuple[int, int]], total_weight: int) -> list[int]:
    """Return the fee rates at the 10th, 25th, 50th, 75th and 90th percentile of the weight; `rates` are (rate, weight)."""
    # Written as the reference writes them: a tenth and nine tenths are not exact in binary.
    marks = (total_weight / 10, total_weight / 4, total_weight / 2, total_weight * 3 / 4, total_weight * 9 / 10)
    if not rates:
        return [0] * len(marks)
    found: list[int] = []
    reached = 0
    ordered = sorted(rates)
    for rate, weight in ordered:
        reached += weight
        while len(found) < len(marks) and reached >= marks[len(found)]:
            found.append(rate)
    return found + [ordered[-1][0]] * (len(marks) - len(found))
