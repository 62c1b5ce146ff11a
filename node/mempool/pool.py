"""The memory pool: which transactions wait for a block, and what each change of that set means.

Owns: the entries, who spends what, fee deltas, the unbroadcast set, the numbers of the changes. Never: deciding what may
come in (see `accept`), the chain (see `block_updates`), clients' formats.
Changed by the chain thread alone, under `lock`; others look at it under `lock`.
"""

import logging
import threading
from collections.abc import Iterable, Sequence

from clarion.node.chain.clock import Clock
from clarion.node.mempool.change_set import ChangeSet, saturating_add
from clarion.node.mempool.changes import Added, PoolObserver, RemovalReason, Removed
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.graph import Level, TxGraph
from clarion.node.mempool.memory_usage import ENTRY, FEE_DELTA, RANDOMIZED_ENTRY, SPENT_OUTPOINT, GrowingArray
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.rolling_fee import RollingFee
from clarion.node.primitives.amounts import format_amount
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, Txid, Wtxid, hash_to_hex, make_outpoint, outpoint_txid
from clarion.node.primitives.transaction import WITNESS_SCALE_FACTOR, Transaction

MAX_GATHERED = 500
"""Transactions that `gather_clusters` collects at most."""

logger = logging.getLogger(__name__)


class Mempool:
    """Transactions valid on top of the tip, and the graph of their dependencies (the reference's CTxMemPool)."""

    def __init__(self, options: MempoolOptions, clock: Clock) -> None:
        self.options = options
        self.clock = clock
        self.lock = threading.RLock()
        limits = options.limits
        self.graph: TxGraph[MempoolEntry] = TxGraph(
            limits.cluster_count, limits.cluster_size_vbytes * WITNESS_SCALE_FACTOR
        )
        self.entries: dict[Txid, MempoolEntry] = {}
        self._by_wtxid: dict[Wtxid, MempoolEntry] = {}
        self.next_tx: dict[OutPoint, MempoolEntry] = {}
        """The entry that spends each outpoint that the pool spends."""
        self.deltas: dict[Txid, int] = {}
        """What `prioritisetransaction` added to fees, in satoshis; the transactions need not be here."""
        self.unbroadcast: set[Txid] = set()
        """Transactions of our own that no peer has asked for yet."""
        self.observers: list[PoolObserver] = []
        self.sequence = 1
        """The number that the next addition or removal is told with."""
        self.generation = 0
        """Rises with every change that could alter the answer to whether a transaction may come in."""
        self.transactions_updated = 0
        """Rises with every change that could alter a block template."""
        self.total_vsize = 0
        self.total_fee_sat = 0
        """Sum of the fees without deltas."""
        self.change_set_open = False
        self.load_tried = False
        """Whether loading the stored pool is over, successful or not."""
        self.inner_usage_bytes = 0
        self._randomized = GrowingArray(RANDOMIZED_ENTRY)
        self._oldest = 0
        """No entry came before this time."""
        self.rolling_fee = RollingFee(clock, options.incremental_relay_feerate)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, txid: Txid) -> bool:
        return txid in self.entries

    # --- looking ----------------------------------------------------------------------------------------------------

    def get(self, txid: Txid) -> MempoolEntry | None:
        """Return the entry of a transaction, None if it is not here."""
        return self.entries.get(txid)

    def get_by_wtxid(self, wtxid: Wtxid) -> MempoolEntry | None:
        """Return the entry of exactly this transaction with this witness, None if it is not here."""
        return self._by_wtxid.get(wtxid)

    def spender(self, outpoint: OutPoint) -> MempoolEntry | None:
        """Return the entry that spends `outpoint`, None if none does."""
        return self.next_tx.get(outpoint)

    def spending_transaction(self, outpoint: bytes) -> Transaction | None:
        """Return the transaction here that spends `outpoint`, None if none does. Any thread, also without the lock."""
        entry = self.next_tx.get(outpoint)  # type: ignore[call-overload]
        return entry.tx if entry is not None else None

    def parents(self, entry: MempoolEntry) -> list[MempoolEntry]:
        """Return the entries whose outputs `entry` spends, by txid."""
        txids = sorted({outpoint_txid(txin.prevout) for txin in entry.tx.inputs})
        return [self.entries[txid] for txid in txids if txid in self.entries]

    def children(self, entry: MempoolEntry) -> list[MempoolEntry]:
        """Return the entries that spend outputs of `entry`, by txid."""
        found = {child.txid: child for child in self.spenders_of(entry.tx)}
        return [found[txid] for txid in sorted(found)]

    def spenders_of(self, tx: Transaction) -> list[MempoolEntry]:
        """Return who spends each output of `tx`, which need not be here itself; one that spends two stands there twice."""
        outpoints = (make_outpoint(tx.txid, index) for index in range(len(tx.outputs)))
        return [self.next_tx[outpoint] for outpoint in outpoints if outpoint in self.next_tx]

    def ancestors(self, entry: MempoolEntry) -> set[MempoolEntry]:
        """Return the ancestors without `entry`, which may also be one that is only staged."""
        found = set(self.graph.ancestors(entry, Level.MAIN))
        if not found:
            found = set(self.graph.ancestors_union(self.parents(entry), Level.MAIN))
        found.discard(entry)
        return found

    def descendants(self, entry: MempoolEntry) -> list[MempoolEntry]:
        """Return `entry` and all that depend on it."""
        return self.graph.descendants(entry, Level.MAIN)

    def cluster(self, entry: MempoolEntry) -> list[MempoolEntry]:
        """Return all that hang together with `entry`, in the order in which they would be mined."""
        return self.graph.cluster(entry, Level.MAIN)

    def gather_clusters(self, txids: Iterable[Txid]) -> list[MempoolEntry]:
        """Return the clusters of these transactions, each once; nothing if that is more than 500 entries."""
        found: dict[MempoolEntry, None] = {}
        for txid in txids:
            entry = self.entries.get(txid)
            if entry is not None and entry not in found:
                found.update(dict.fromkeys(self.cluster(entry)))
        return list(found) if len(found) <= MAX_GATHERED else []

    def has_no_inputs_of(self, tx: Transaction) -> bool:
        """Whether no input of `tx` spends a transaction of the pool."""
        return not any(outpoint_txid(txin.prevout) in self.entries for txin in tx.inputs)

    def sorted_entries(self) -> list[MempoolEntry]:
        """Return all entries in the order in which they would be mined, parents first."""
        return sorted(self.entries.values(), key=self.graph.main_order_key)

    def feerate_diagram(self) -> list[FeeFrac]:
        """Return the sums of modified fee and weight after each chunk in mining order, (0, 0) first."""
        points = [FeeFrac(0, 0)]
        with self.graph.block_builder() as builder:
            while (chunk := builder.current_chunk()) is not None:
                points.append(points[-1] + chunk[1])
                builder.include()
        return points

    @property
    def usage_bytes(self) -> int:
        """What the pool would take in the reference's memory (see `memory_usage`)."""
        return (
            ENTRY * len(self.entries)
            + SPENT_OUTPOINT * len(self.next_tx)
            + FEE_DELTA * len(self.deltas)
            + self._randomized.usage_bytes
            + self.graph.main_memory_usage()
            + self.inner_usage_bytes
        )

    def min_fee(self) -> FeeRate:
        """Return the fee rate that a transaction needs because the pool was full, zero if it was not lately."""
        return self.rolling_fee.rate(self.usage_bytes, self.options.max_size_bytes)

    # --- fee deltas and the unbroadcast set -------------------------------------------------------------------------

    def fee_delta(self, txid: Txid) -> int:
        """Return what was added to a transaction's fee, in satoshis."""
        return self.deltas.get(txid, 0)

    def prioritise(self, txid: Txid, delta_sat: int) -> None:
        """Add to the fee that a transaction counts with, here or not; deltas add up."""
        delta = saturating_add(self.fee_delta(txid), delta_sat)
        entry = self.entries.get(txid)
        self.generation += 1
        if entry is not None:
            self.graph.set_transaction_fee(entry, saturating_add(entry.fee_sat, delta_sat))
            self.transactions_updated += 1
        where = "" if entry is not None else "not "
        if delta == 0:
            self.deltas.pop(txid, None)
            logger.info("PrioritiseTransaction: %s (%sin mempool) delta cleared", hash_to_hex(txid), where)
        else:
            self.deltas[txid] = delta
            logger.info(
                "PrioritiseTransaction: %s (%sin mempool) fee += %s, new delta=%s",
                hash_to_hex(txid),
                where,
                format_amount(delta_sat),
                format_amount(delta),
            )

    def clear_prioritisation(self, txid: Txid) -> None:
        """Forget a transaction's fee delta; an entry keeps the fee that it counts with."""
        self.deltas.pop(txid, None)

    def add_unbroadcast(self, txid: Txid) -> None:
        """Note that peers must hear of a transaction, if it is here."""
        if txid in self.entries:
            self.unbroadcast.add(txid)

    def remove_unbroadcast(self, txid: Txid, *, unchecked: bool = False) -> None:
        """Note that a peer has asked for it, or (`unchecked`) that it has gone before one did."""
        if txid in self.unbroadcast:
            self.unbroadcast.discard(txid)
            suffix = " before confirmation that txn was sent out" if unchecked else ""
            logger.debug("Removed %s from set of unbroadcast txns%s", hash_to_hex(txid), suffix)

    # --- changing ---------------------------------------------------------------------------------------------------

    def change_set(self) -> ChangeSet:
        """Return a proposal, to be used in a `with` block."""
        return ChangeSet(self)

    def next_sequence(self) -> int:
        """Take the number of one change."""
        taken = self.sequence
        self.sequence += 1
        return taken

    def tell_added(
        self,
        entry: MempoolEntry,
        spent: Sequence[Coin],
        *,
        limits_bypassed: bool = False,
        in_package: bool = False,
        chain_current: bool = False,
    ) -> None:
        """Tell that an entry came in and stayed. Who applied the change set calls it, once the pool is within limits."""
        added = Added(
            entry,
            self.next_sequence(),
            spent,
            limits_bypassed=limits_bypassed,
            in_package=in_package,
            chain_current=chain_current,
            no_pool_parents=self.has_no_inputs_of(entry.tx),
        )
        for observer in self.observers:
            observer.tx_added(added)

    def insert_unchecked(self, entry: MempoolEntry) -> None:
        """Put in an entry that the graph has already. For change sets."""
        if not self.entries or entry.time < self._oldest:
            self._oldest = entry.time
        self.entries[entry.txid] = entry
        self._by_wtxid[entry.wtxid] = entry
        for txin in entry.tx.inputs:
            self.next_tx[txin.prevout] = entry
        self.inner_usage_bytes += entry.usage_bytes
        self._randomized.grow()
        self.total_vsize += entry.vsize
        self.total_fee_sat += entry.base_fee_sat
        self.transactions_updated += 1
        self.generation += 1

    def remove_unchecked(self, entry: MempoolEntry, reason: RemovalReason, replaced_by: Txid | None = None) -> None:
        """Tell that an entry goes, then take it out. Its descendants must go as well."""
        removed = Removed(entry, reason, self.next_sequence(), replaced_by)
        for observer in self.observers:
            observer.tx_removed(removed)
        self._take_out(entry)

    def tell_confirmed(self, entries: Sequence[MempoolEntry]) -> None:
        """Tell that these go, with a number for each, since a block has them. `remove_confirmed` must follow."""
        first = self.sequence
        self.sequence += len(entries)
        if entries:
            for observer in self.observers:
                observer.confirmed(entries, first)

    def remove_confirmed(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Take out all that the block at `height` confirmed; descendants stay. Then tell that it is over."""
        for entry in entries:
            self._take_out(entry)
        for observer in self.observers:
            observer.removed_for_block(entries, height)

    def _take_out(self, entry: MempoolEntry) -> None:
        for txin in entry.tx.inputs:
            del self.next_tx[txin.prevout]
        self.remove_unbroadcast(entry.txid, unchecked=True)
        self._randomized.shrink()
        self.total_vsize -= entry.vsize
        self.total_fee_sat -= entry.base_fee_sat
        self.inner_usage_bytes -= entry.usage_bytes
        del self.entries[entry.txid]
        del self._by_wtxid[entry.wtxid]
        self.graph.remove_transaction(entry)
        self.transactions_updated += 1
        self.generation += 1

    def remove_recursive(self, tx: Transaction, reason: RemovalReason) -> None:
        """Remove a transaction and all that depend on it; if it is not here, still those that do."""
        assert not self.change_set_open
        entry = self.entries.get(tx.txid)
        if entry is not None:
            going = self.descendants(entry)
        else:
            going = self.graph.descendants_union(self.spenders_of(tx), Level.MAIN)
        for each in going:
            self.remove_unchecked(each, reason)

    def expire(self, before: int) -> int:
        """Remove what came before this time (Unix seconds), with all that depend on it; return how many went."""
        assert not self.change_set_open
        if self._oldest >= before or not self.entries:
            return 0
        old = [entry for entry in self.entries.values() if entry.time < before]
        going = {entry.txid: entry for entry in self.graph.descendants_union(old, Level.MAIN)} if old else {}
        for txid in sorted(going):
            self.remove_unchecked(going[txid], RemovalReason.EXPIRY)
        self._oldest = min((entry.time for entry in self.entries.values()), default=0)
        return len(going)

    def trim_to_size(self, limit_bytes: int) -> None:
        """Evict the worst chunks until the pool takes at most this much, and raise the minimum fee rate above them."""
        assert not self.change_set_open
        count = 0
        highest = FeeRate(0)
        while self.entries and self.usage_bytes > limit_bytes:
            chunk, feerate = self.graph.worst_main_chunk()
            # The next to come must pay for the bytes that these have cost already.
            removed = FeeRate(feerate.fee, -(-feerate.size // WITNESS_SCALE_FACTOR))
            removed += self.options.incremental_relay_feerate
            self.rolling_fee.evicted(removed)
            highest = max(highest, removed)
            count += len(chunk)
            for entry in sorted(chunk, key=lambda each: each.txid):
                self.remove_unchecked(entry, RemovalReason.SIZELIMIT)
        if highest > FeeRate(0):
            logger.debug("Removed %d txn, rolling minimum fee bumped to %s", count, highest)

    def limit_size(self) -> None:
        """Expire what is too old, then evict what is too much."""
        expired = self.expire(self.clock.now() - self.options.expiry_s)
        if expired:
            logger.debug("Expired %d transactions from the memory pool", expired)
        self.trim_to_size(self.options.max_size_bytes)
