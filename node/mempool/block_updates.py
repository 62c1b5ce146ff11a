"""What connected and disconnected blocks do to the pool.

Owns: removal of what a block confirms or contradicts, and the pool's way through a reorganisation. Never: accepting
transactions (it is given a callable), clients. Runs on the chain thread, without the chain lock.
"""

import random
from collections.abc import Callable, Sequence

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.state import ChainState
from clarion.node.consensus.constants import COINBASE_MATURITY
from clarion.node.consensus.tx_verify import is_final_tx
from clarion.node.mempool.changes import RemovalReason
from clarion.node.mempool.coins_view import MempoolCoins
from clarion.node.mempool.consistency import check_consistency
from clarion.node.mempool.disconnected import DisconnectedTransactions
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.graph import Level
from clarion.node.mempool.lock_points import (
    calculate_lock_points,
    check_sequence_locks_at_tip,
)
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import Txid, outpoint_txid
from clarion.node.primitives.transaction import Transaction

Readmit = Callable[[Transaction], bool]
"""Accepts a transaction without regard to fees and limits of size; says whether it is in the pool now."""


class BlockUpdates:
    """Keeps the pool consistent with the chain. Satisfies `chain.pool_link.PoolLink`."""

    def __init__(self, pool: Mempool, state: ChainState, readmit: Readmit) -> None:
        self._pool = pool
        self._state = state
        self._readmit = readmit
        self._disconnected = DisconnectedTransactions()
        self._holding = False
        self._confirmed: list[tuple[list[MempoolEntry], int]] = []
        """What blocks confirmed and is still in the pool, with the height of each block."""
        self.on_connected: Callable[[Block], None] = lambda block: None
        """Called with each block behind the pool, before the commit that tells it; it must return at once."""
        self.on_disconnected: Callable[[], None] = lambda: None

    @property
    def idle(self) -> bool:
        """Whether blocks mean nothing to the pool now: it is empty and remembers no transaction."""
        return not self._pool.entries and not self._pool.deltas

    def _hold(self) -> None:
        """Keep others from the pool until the chain has committed what goes with the change.

        Else they could see a transaction that has left the pool while its block is not told yet.
        """
        if not self._holding:
            self._pool.lock.acquire()
            self._holding = True

    def release(self) -> None:
        """What the blocks did is committed: bring it to an end, and let others see the pool again."""
        self._remove_confirmed()
        if self._holding:
            self._holding = False
            self._pool.lock.release()

    def catch_up(self) -> None:
        """Have the graph follow what it was told, which it would else do when it is asked next."""
        with self._pool.lock:
            self._pool.graph.do_work()

    # --- one block --------------------------------------------------------------------------------------------------

    def block_connected(self, block: Block, height: int) -> None:
        """Tell what the block confirms, and remove what spends the same coins with all that depends on it.

        What is confirmed leaves the pool once the block is committed: nobody should wait for that to hear of the block.
        """
        pool = self._pool
        self._hold()
        self._remove_confirmed()
        self._confirmed.append(([] if self.idle else self._confirm(block.txs), height))
        pool.rolling_fee.block_connected()
        pool.transactions_updated += 1
        pool.generation += 1
        self._disconnected.remove_confirmed(block.txs)
        self.on_connected(block)

    def _confirm(self, txs: Sequence[Transaction]) -> list[MempoolEntry]:
        """Return the entries of what is confirmed. They are told, in between the conflicts, which are removed."""
        pool = self._pool
        entries: list[MempoolEntry] = []
        told = 0
        for tx in txs:
            entry = pool.get(tx.txid)
            if entry is not None:
                entries.append(entry)
            # Nothing else in the pool spends what one of its own transactions spends.
            elif conflicts := [each for txin in tx.inputs if (each := pool.spender(txin.prevout)) is not None]:
                pool.tell_confirmed(entries[told:])
                told = len(entries)
                for conflict in conflicts:
                    pool.clear_prioritisation(conflict.txid)
                    pool.remove_recursive(conflict.tx, RemovalReason.CONFLICT)
        pool.tell_confirmed(entries[told:])
        if pool.deltas:
            for tx in txs:
                pool.clear_prioritisation(tx.txid)
        return entries

    def _remove_confirmed(self) -> None:
        """Take out what is confirmed. Whatever else is done with the pool comes behind this."""
        confirmed, self._confirmed = self._confirmed, []
        for entries, height in confirmed:
            self._pool.remove_confirmed(entries, height)

    def block_disconnected(self, block: Block) -> None:
        """Keep the block's transactions until the reorganisation is over."""
        self._hold()
        self._remove_confirmed()
        for tx in self._disconnected.add_block(block):
            self._pool.remove_recursive(tx, RemovalReason.REORG)
        self._pool.transactions_updated += 1
        self._pool.generation += 1
        self.on_disconnected()

    # --- the end of a step ------------------------------------------------------------------------------------------

    def reorganised(self, *, readmit: bool) -> None:
        """Take back what was disconnected and may come back, and remove what is no longer valid in the next block."""
        self._hold()
        self._remove_confirmed()
        returned = self._take_back(readmit)
        self._link_returned(returned)
        self._remove_invalid()
        self._pool.limit_size()

    def _take_back(self, readmit: bool) -> list[Txid]:
        pool = self._pool
        returned = []
        for tx in self._disconnected.take():
            if not readmit or tx.is_coinbase or not self._readmit(tx):
                # What depends on it has lost its ground.
                pool.remove_recursive(tx, RemovalReason.REORG)
            elif tx.txid in pool:
                returned.append(tx.txid)
        return returned

    def _link_returned(self, returned: Sequence[Txid]) -> None:
        """Tell the graph of children that were in the pool before their parents; clusters may be too large then."""
        pool = self._pool
        for txid in reversed(returned):
            entry = pool.get(txid)
            if entry is not None:
                for child in pool.spenders_of(entry.tx):
                    pool.graph.add_dependency(entry, child)
        for trimmed in pool.graph.trim():
            pool.remove_unchecked(trimmed, RemovalReason.SIZELIMIT)

    def _remove_invalid(self) -> None:
        pool = self._pool
        active = self._state.active
        next_height, time = active.height + 1, active.tip.median_time_past()
        coins = MempoolCoins(pool.entries, self._state.coins.fetch)
        entries = list(pool.entries.values())
        coins.prefetch(each.tx for each in entries if each.spends_coinbase or not each.lock_points.valid_in(active))
        invalid = [
            entry
            for entry in entries
            if not is_final_tx(entry.tx, next_height, time)
            or not self._locks_allow(entry, active.tip, coins)
            or (entry.spends_coinbase and not self._is_mature(entry, next_height, coins))
        ]
        for entry in pool.graph.descendants_union(invalid, Level.MAIN):
            pool.remove_unchecked(entry, RemovalReason.REORG)
        pool.graph.do_work()

    def _locks_allow(self, entry: MempoolEntry, tip: BlockIndexEntry, coins: MempoolCoins) -> bool:
        """Whether relative locks allow the entry on top of `tip`; lock points that lost their block are worked out anew."""
        if entry.lock_points.valid_in(self._state.active):
            return check_sequence_locks_at_tip(tip, entry.lock_points)
        spent = [coin for coin in coins.spent_by(entry.tx) if coin is not None]
        if len(spent) < len(entry.tx.inputs):
            return False
        lock_points = calculate_lock_points(tip, entry.tx, spent)
        if not check_sequence_locks_at_tip(tip, lock_points):
            return False
        entry.lock_points = lock_points
        return True

    def _is_mature(self, entry: MempoolEntry, next_height: int, coins: MempoolCoins) -> bool:
        outpoints = [txin.prevout for txin in entry.tx.inputs if outpoint_txid(txin.prevout) not in self._pool]
        for outpoint in outpoints:
            coin = coins.get(outpoint)
            assert coin is not None, "what spends a missing coin has been removed"
            if coin.is_coinbase and next_height - coin.height < COINBASE_MATURITY:
                return False
        return True

    def check(self) -> None:
        """Check the pool's consistency, as often as -checkmempool says. A fault is an AssertionError."""
        ratio = self._pool.options.check_ratio
        if ratio and random.randrange(ratio) == 0:
            self._remove_confirmed()
            with self._pool.lock:
                check_consistency(self._pool, self._state)
