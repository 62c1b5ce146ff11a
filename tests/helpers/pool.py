"""A pool with or without a chain, filled with transactions whose fees and relations the test chooses."""

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from clarion.node.chain.clock import Clock
from clarion.node.consensus.tx_verify import check_tx_inputs
from clarion.node.errors import TxInvalid
from clarion.node.mempool.block_updates import BlockUpdates
from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.coins_view import MempoolCoins
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.lock_points import NO_LOCK_POINTS, calculate_lock_points
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_node import ChainNode

START = 1_700_000_000

_numbers = count()


def coin() -> OutPoint:
    """Return an outpoint that nothing else of the test spends."""
    return make_outpoint(next(_numbers).to_bytes(32, "big"), 0)


def make_tx(*spent: OutPoint, outputs: int = 1, padding: int = 0) -> Transaction:
    """Return a transaction that spends these outpoints, or a new one."""
    inputs = [TxIn(outpoint) for outpoint in spent or (coin(),)]
    return Transaction(2, inputs, [TxOut(1000, bytes(1 + padding))] * outputs)


def output(parent: Transaction, index: int = 0) -> OutPoint:
    """Return the outpoint of an output."""
    return make_outpoint(parent.txid, index)


class Confirmed(NamedTuple):
    """A transaction that a block has, with the pool's number of its removal."""

    entry: MempoolEntry
    sequence: int


class Listener:
    """Keeps what it hears, in order."""

    def __init__(self) -> None:
        self.heard: list[Added | Removed | Confirmed] = []
        self.blocks: list[tuple[list[Transaction], int]] = []

    def tx_added(self, added: Added) -> None:
        self.heard.append(added)

    def tx_removed(self, removed: Removed) -> None:
        self.heard.append(removed)

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        self.heard += [Confirmed(entry, sequence + at) for at, entry in enumerate(entries)]

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        self.blocks.append(([entry.tx for entry in entries], height))

    def removed(self) -> list[tuple[Transaction, str]]:
        """Return what left, with the reason."""
        return [
            (each.entry.tx, each.reason.value if isinstance(each, Removed) else "block")
            for each in self.heard
            if not isinstance(each, Added)
        ]


class PoolFixture:
    """A pool, its stopped clock and a listener."""

    def __init__(self, options: MempoolOptions | None = None) -> None:
        self.clock = Clock(START)
        self.pool = Mempool(options or MempoolOptions(), self.clock)
        self.listener = Listener()
        self.pool.observers.append(self.listener)

    def add(
        self,
        tx: Transaction,
        fee_sat: int = 1000,
        *,
        replaces: Sequence[Transaction] = (),
        age_s: int = 0,
        spent: Sequence[Coin] = (),
    ) -> MempoolEntry:
        """Put a transaction in, in place of others, as acceptance does; `spent` is what is told of its inputs."""
        with self.pool.change_set() as changes:
            for old in replaces:
                changes.stage_removal(self.pool.entries[old.txid])
            entry = changes.stage_addition(
                tx,
                fee_sat,
                time=self.clock.now() - age_s,
                height=100,
                sequence=self.pool.sequence,
                spends_coinbase=False,
                sigop_cost=0,
                lock_points=NO_LOCK_POINTS,
            )
            changes.apply()
        self.pool.tell_added(entry, spent)
        return entry


class PoolOnChain(PoolFixture):
    """A pool that follows the chain of a node without threads; what it is offered is only checked for its coins."""

    def __init__(self, node: ChainNode, options: MempoolOptions | None = None) -> None:
        super().__init__(options or MempoolOptions(check_ratio=1))
        self.manager = node.manager
        self.state = node.manager.state
        self.refused: set[Txid] = set()
        """Transactions that a reorganisation may not bring back."""
        self.state.pool = BlockUpdates(self.pool, self.state, self._readmit)

    def offer(self, tx: Transaction, *, sequence: int = 1) -> bool:
        """Take a transaction in if its coins are there and mature; say whether they were."""
        tip = self.state.active.tip
        coins = MempoolCoins(self.pool.entries, self.state.coins.fetch).spent_by(tx)
        try:
            fee = check_tx_inputs(tx, coins, tip.height + 1)
        except TxInvalid:
            return False
        spent = [coin for coin in coins if coin is not None]
        with self.pool.change_set() as changes:
            entry = changes.stage_addition(
                tx,
                fee,
                time=self.clock.now(),
                height=tip.height,
                sequence=sequence,
                spends_coinbase=any(coin.is_coinbase for coin in spent),
                sigop_cost=0,
                lock_points=calculate_lock_points(tip, tx, spent),
            )
            changes.apply()
        self.pool.tell_added(entry, spent)
        return True

    def _readmit(self, tx: Transaction) -> bool:
        # Acceptance asks for the tip in this way.
        assert self.manager.settled_tip() is self.state.active.tip
        return tx.txid not in self.refused and self.offer(tx, sequence=0)
