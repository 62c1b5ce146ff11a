"""Choosing the transactions of a block.

Owns: the walk over the pool's chunks, the best paying first, within weight, sigops and finality (the reference's
addChunks). Never: ordering the pool (its graph does), building the block.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from clarion.node.consensus.constants import MAX_BLOCK_SIGOPS_COST, WITNESS_SCALE_FACTOR
from clarion.node.consensus.tx_verify import is_final_tx
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mining.options import COINBASE_SIGOP_COST, MiningOptions
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction

MAX_CONSECUTIVE_FAILURES = 1000
"""After so many chunks in a row that don't fit, a block that is nearly full is left as it is."""
NEARLY_FULL_WEIGHT = 4000

logger = logging.getLogger(__name__)


class MinableEntry(Protocol):
    """What is asked of a transaction of the pool. Fees in satoshis."""

    @property
    def tx(self) -> Transaction: ...
    @property
    def base_fee_sat(self) -> int: ...
    @property
    def modified_fee_sat(self) -> int: ...
    @property
    def vsize(self) -> int: ...
    @property
    def sigop_cost(self) -> int: ...


class ChunkFeerate(Protocol):
    """Modified fee in satoshis and sigop-adjusted weight of a chunk."""

    @property
    def fee(self) -> int: ...
    @property
    def size(self) -> int: ...


class ChunkSource(Protocol):
    """The pool's chunks, the best feerate first. Each is either included or skipped; the pool does not change meanwhile."""

    def current_chunk(self) -> tuple[Sequence[MinableEntry], ChunkFeerate] | None:
        """Return the next chunk, parents before children, with its feerate; None at the end."""
        ...

    def include(self) -> None:
        """Go on behind the current chunk."""
        ...

    def skip(self) -> None:
        """Do the same, but leave out what is left of its cluster."""
        ...


@dataclass(slots=True)
class Selection:
    """The chosen transactions in block order, with what the limits are measured by.

    `weight` counts what is reserved for header and coinbase too, `sigop_cost` what is reserved for the coinbase.
    """

    weight: int
    sigop_cost: int = COINBASE_SIGOP_COST
    fees: int = 0
    entries: list[MinableEntry] = field(default_factory=list)

    def add(self, entry: MinableEntry) -> None:
        """Put a transaction behind the others."""
        self.entries.append(entry)
        self.weight += entry.tx.weight
        self.sigop_cost += entry.sigop_cost
        self.fees += entry.base_fee_sat


def select_transactions(
    chunks: ChunkSource | None, height: int, lock_time_cutoff: int, options: MiningOptions
) -> Selection:
    """Return the transactions of a block at `height`, none without `chunks`.

    `lock_time_cutoff` is the parent's median time past. Runs on the chain thread, under the pool's lock.
    """
    selection = Selection(options.reserved_weight)
    failures = 0
    while chunks is not None and (chunk := chunks.current_chunk()) is not None:
        entries, feerate = chunk
        vsize = -(-feerate.size // WITNESS_SCALE_FACTOR)
        if FeeRate(feerate.fee, vsize) < options.min_feerate:
            break
        if _fits(selection, entries, feerate, options) and _are_final(entries, height, lock_time_cutoff):
            chunks.include()
            failures = 0
            for entry in entries:
                selection.add(entry)
        else:
            chunks.skip()
            failures += 1
            nearly_full = selection.weight + NEARLY_FULL_WEIGHT > options.max_weight
            if failures > MAX_CONSECUTIVE_FAILURES and nearly_full:
                break
    return selection


def _fits(selection: Selection, entries: Sequence[MinableEntry], feerate: ChunkFeerate, options: MiningOptions) -> bool:
    # As in the reference the limits themselves are never reached.
    sigop_cost = selection.sigop_cost + sum(entry.sigop_cost for entry in entries)
    return selection.weight + feerate.size < options.max_weight and sigop_cost < MAX_BLOCK_SIGOPS_COST


def _are_final(entries: Sequence[MinableEntry], height: int, lock_time_cutoff: int) -> bool:
    return all(is_final_tx(entry.tx, height, lock_time_cutoff) for entry in entries)


def log_feerates(selection: Selection) -> None:
    """Log the fee rate of each chosen transaction (`-printpriority`). Call it without the pool's lock."""
    for entry in selection.entries:
        feerate = FeeRate(entry.modified_fee_sat, entry.vsize)
        logger.info("fee rate %s txid %s", feerate, hash_to_hex(entry.tx.txid))
