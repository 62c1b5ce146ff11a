"""The mempool over a chain: random offers, replacements, packages, blocks and reorganisations against a slow model."""

import tempfile
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clarion.node.chain.clock import Clock
from clarion.node.chain.service import ChainService
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.changes import Added
from clarion.node.mempool.options import MempoolLimits, MempoolOptions
from clarion.node.mempool.pool import Mempool
from clarion.node.mempool.service import MempoolService
from clarion.node.primitives.ids import BlockHash, OutPoint, Txid
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxScripts
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode
from helpers.pool import Listener
from helpers.pool_model import MATURITY, ModelCoin, ModelCoins, Relations, check_pool

SPENDABLE = 6
BASE = make_chain(genesis(), 100 + SPENDABLE)
START = BASE[-1].time + 1_000_000
EXPIRY_S = 7200
NOT_FINAL = 0xFFFFFFFD
OPTIONS = MempoolOptions(
    require_standard=False, check_ratio=1, expiry_s=EXPIRY_S, limits=MempoolLimits(cluster_count=6)
)

CHOICE = st.integers(0, 2**16)
FEES = st.one_of(st.integers(0, 60), st.integers(100, 20_000), st.integers(20_000, 1_000_000))


class Timing(Enum):
    """When a transaction may be mined: at any time, or from the next block on, which one block less would forbid."""

    FREE = auto()
    LOCK_TIME = auto()
    RELATIVE = auto()


class Draft(NamedTuple):
    """A transaction to be made. `contest`: it spends a coin that the pool spends already."""

    choice: int
    fee: int
    inputs: int
    outputs: int
    timing: Timing
    contest: bool


DRAFTS = st.builds(Draft, CHOICE, FEES, st.integers(1, 3), st.integers(1, 3), st.sampled_from(Timing), st.booleans())
OFFERS = st.lists(DRAFTS, min_size=1, max_size=5)


class MempoolMachine(RuleBasedStateMachine):
    """Drives a real chain, pool and acceptance; what must come of each step is worked out by the model."""

    @initialize(drafts=OFFERS)
    def build(self, drafts: list[Draft]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock(START)
        self.node = ChainNode(Path(self.folder.name), clock=self.clock)
        self.chain = ChainService(self.node.manager, on_fatal=self.failed)
        self.pool = Mempool(OPTIONS, self.clock)
        acceptor = Acceptor(self.pool, self.chain, TxScripts(InlineQueue(), ScriptCache(1 << 20)))
        self.service = MempoolService(self.chain, self.pool, acceptor, Path(self.folder.name))
        self.listener = Listener()
        self.pool.observers.append(self.listener)
        self.chain.start()
        self.blocks = {built.hash: built for built in BASE}
        self.made: dict[Txid, Transaction] = {}
        self.nonce = 0
        self.fault: BaseException | None = None
        self.submit(BASE)
        self.offer(drafts)

    def failed(self, error: BaseException) -> None:
        self.fault = error

    def teardown(self) -> None:
        if hasattr(self, "chain"):
            self.chain.stop()
            self.node.close()
            self.folder.cleanup()

    # --- the model's view -------------------------------------------------------------------------------------------

    def submit(self, blocks: Sequence[Built]) -> None:
        for built in blocks:
            assert built.block is not None
            self.blocks[built.hash] = built
            outcome = self.chain.submit(self.node.manager.process_new_block, built.block).result()
            assert outcome.invalid is None, outcome.invalid

    def active(self) -> list[Built]:
        """Return the blocks of the active chain behind genesis."""
        found = []
        at: Built | None = self.blocks[self.node.manager.tip.hash]
        while at is not None and at.height:
            found.append(at)
            at = at.prev
        return found[::-1]

    def coins(self) -> ModelCoins:
        return ModelCoins((built.height, built.block) for built in self.active() if built.block is not None)

    def held(self) -> set[Txid]:
        return set(self.pool.entries)

    def ordered(self) -> list[Transaction]:
        return [entry.tx for entry in self.pool.sorted_entries()]

    def survivors(self, candidates: Sequence[Transaction]) -> set[Txid]:
        """Return what of `candidates`, parents first, can wait for the next block of the present chain together."""
        coins = self.coins()
        found = set()
        for tx in candidates:
            if tx.txid not in coins.confirmed and coins.fee(tx) is not None:
                coins.add(tx)
                found.add(tx.txid)
        return found

    def write(self, draft: Draft) -> Transaction:
        """Return a transaction that spends coins of the chain or the pool."""
        before = self.coins()
        coins = self.coins()
        for tx in self.ordered():
            coins.add(tx)
        free = sorted(outpoint for outpoint, coin in coins.coins.items() if self.may_spend(coin))
        taken = sorted(self.pool.next_tx.keys() & before.coins.keys())
        picked = dict.fromkeys(taken[draft.choice % len(taken)] for _ in range(1) if draft.contest and taken)
        for step in range(1, 1 + draft.inputs - len(picked)):
            if free:
                picked[free[draft.choice * step % len(free)]] = None
        return self.make_tx(
            {outpoint: coins.coins.get(outpoint) or before.coins[outpoint] for outpoint in picked}, draft
        )

    def may_spend(self, coin: ModelCoin) -> bool:
        return coin.value > 2_000_000 and (not coin.coinbase or self.height() + 1 - coin.height >= MATURITY)

    def make_tx(self, spent: dict[OutPoint, ModelCoin], draft: Draft) -> Transaction:
        self.nonce += 1
        total = sum(coin.value for coin in spent.values())
        each = (total - min(draft.fee, total)) // draft.outputs
        outputs = [TxOut(each, OP_TRUE) for _ in range(draft.outputs)]
        outputs.append(TxOut(0, b"\x6a" + self.nonce.to_bytes(4, "big")))
        inputs = []
        for outpoint, coin in spent.items():
            # No lock on coins of the pool: the reference takes even one of zero blocks for broken when the tip falls back.
            age = self.height() + 1 - coin.height if draft.timing is Timing.RELATIVE else 0
            inputs.append(TxIn(outpoint, b"", age or NOT_FINAL))
        lock_time = self.height() if draft.timing is Timing.LOCK_TIME else 0
        tx = Transaction(2, inputs, outputs, lock_time)
        self.made[tx.txid] = tx
        return tx

    def height(self) -> int:
        return self.node.manager.tip.height

    # --- what may happen --------------------------------------------------------------------------------------------

    @rule(drafts=OFFERS)
    def offer(self, drafts: list[Draft]) -> None:
        for draft in drafts:
            self.offer_one(self.write(draft))

    def offer_one(self, tx: Transaction) -> None:
        before, sequence = self.held(), self.pool.sequence
        relations = Relations({txid: self.made[txid] for txid in before})
        conflicts = {entry.txid for txin in tx.inputs if (entry := self.pool.spender(txin.prevout)) is not None}
        tested = self.service.accept(tx, test=True)
        assert (self.held(), self.pool.sequence) == (before, sequence)
        result = self.service.accept(tx)
        assert (tested.kind, str(tested.error)) == (result.kind, str(result.error))
        if result.valid:
            gone = set().union(*(relations.descendants[txid] for txid in conflicts))
            assert self.held() == before - gone | {tx.txid}
            assert {each.txid for each in result.replaced} == gone
            assert self.pool.sequence == sequence + len(gone) + 1
        else:
            assert (self.held(), self.pool.sequence) == (before, sequence)

    @rule(draft=DRAFTS, second=DRAFTS)
    def offer_package(self, draft: Draft, second: Draft) -> None:
        parent = self.write(draft)
        coin = ModelCoin(parent.outputs[0].value, self.height() + 1, False)
        child = self.make_tx({OutPoint(parent.txid + bytes(4)): coin}, second)
        result = self.service.accept_package([parent, child])
        for tx in (parent, child):
            found = result.results.get(tx.wtxid)
            assert (tx.txid in self.pool) == (found is not None and found.valid)

    @rule(count=st.integers(0, 8), surprises=st.lists(DRAFTS, max_size=3))
    def mine(self, count: int, surprises: list[Draft]) -> None:
        waiting = self.ordered()
        txs = self.with_surprises(waiting[:count], surprises, self.coins())
        self.submit([self.block_on(self.active()[-1], txs)])
        assert self.held() == self.survivors(waiting)

    def with_surprises(self, txs: list[Transaction], drafts: list[Draft], coins: ModelCoins) -> list[Transaction]:
        """Add transactions that the pool never saw. They may contradict it, but not what is in the block already."""
        for tx in txs:
            coins.add(tx)
        for draft in drafts:
            extra = self.write(draft)
            if extra.inputs and coins.fee(extra) is not None:
                coins.add(extra)
                txs = [*txs, extra]
        return txs

    def block_on(self, prev: Built, txs: Sequence[Transaction]) -> Built:
        self.nonce += 1
        return make_block(prev, txs, extra_nonce=self.nonce)

    @precondition(lambda self: len(self.active()) > len(BASE))
    @rule(depth=st.integers(1, 3), keep=CHOICE, surprises=st.lists(DRAFTS, max_size=3))
    def reorganise(self, depth: int, keep: int, surprises: list[Draft]) -> None:
        active = self.active()
        fork = max(len(BASE), len(active) - depth)
        left = [tx for built in active[fork:] for tx in built.txs[1:]]
        below = ModelCoins((built.height, built.block) for built in active[:fork] if built.block is not None)
        txs = []
        # What is kept stands behind all that it spends: only such a set can be in the new block.
        for tx in left[: keep % (len(left) + 1)]:
            if below.fee(tx) is not None:
                below.add(tx)
                txs.append(tx)
        for draft in surprises:
            rival = self.rival(left, draft)
            if rival is not None and below.fee(rival) is not None:
                below.add(rival)
                txs.append(rival)
        branch = [self.block_on(active[fork - 1], txs)]
        while len(branch) <= len(active) - fork:
            branch.append(self.block_on(branch[-1], []))
        waiting = self.ordered()
        self.submit(branch)
        assert self.active()[-1] == branch[-1]
        self.check_return(active, waiting)

    def rival(self, left: Sequence[Transaction], draft: Draft) -> Transaction | None:
        """Return a transaction that spends what one of `left` spends."""
        if not left:
            return None
        prevout = left[draft.choice % len(left)].inputs[0].prevout
        return self.make_tx({prevout: ModelCoin(0, self.height() + 1, False)}, draft)

    @precondition(lambda self: len(self.active()) > len(BASE))
    @rule()
    def invalidate_and_reconsider(self) -> None:
        before = self.active()
        entry = self.node.manager.lookup(BlockHash(before[-1].hash))
        assert entry is not None
        for verdict in (self.node.manager.invalidate_block, self.node.manager.reconsider_block):
            active, waiting = self.active(), self.ordered()
            self.chain.submit(verdict, entry).result()
            # Where the node first falls back and then takes another branch, the pool was judged in between as well.
            self.check_return(active, waiting, exact=self.active() in (active[:-1], before))
        assert self.active() == before

    def check_return(self, before: Sequence[Built], waiting: Sequence[Transaction], *, exact: bool = True) -> None:
        """Check that all is in the pool that left the chain or waited before and can still wait."""
        after = {built.hash for built in self.active()}
        left = [tx for built in before if built.hash not in after for tx in built.txs[1:]]
        expected = self.survivors([*left, *waiting])
        # Clusters are trimmed before what is invalid goes.
        clusters = Relations({tx.txid: tx for tx in (*left, *waiting)}).clusters.values()
        if exact and all(len(cluster) <= OPTIONS.limits.cluster_count for cluster in clusters):
            assert self.held() == expected
        else:
            # Where children were in the pool before their parents, it may have to let some of them go.
            assert self.held() <= expected

    @rule(choice=CHOICE, delta=st.integers(-5000, 5000))
    def prioritise(self, choice: int, delta: int) -> None:
        if self.made:
            self.service.prioritise(sorted(self.made)[choice % len(self.made)], delta)

    @rule(seconds=st.integers(1, EXPIRY_S))
    def grow_old(self, seconds: int) -> None:
        self.clock.set_mock(self.clock.now() + seconds)
        old = {txid for txid, entry in self.pool.entries.items() if entry.time < self.clock.now() - EXPIRY_S}
        relations = Relations({txid: self.made[txid] for txid in self.held()})
        expected = self.held() - set().union(*(relations.descendants[txid] for txid in old))
        self.chain.submit(self.pool.limit_size).result()
        assert self.held() == expected

    @precondition(lambda self: len(self.pool.entries) > 4)
    @rule()
    def evict(self) -> None:
        order = [tx.txid for tx in self.ordered()]
        self.chain.submit(self.pool.trim_to_size, self.pool.usage_bytes - 1).result()
        left = len(self.held())
        assert left < len(order)
        assert set(order[:left]) == self.held()

    # --- what must be true after each step --------------------------------------------------------------------------

    @invariant()
    def nothing_failed(self) -> None:
        if hasattr(self, "chain"):
            assert self.fault is None

    @invariant()
    def pool_fits_the_chain(self) -> None:
        if hasattr(self, "chain"):
            check_pool(self.pool, self.coins())

    @invariant()
    def pool_can_be_mined_as_a_whole(self) -> None:
        if hasattr(self, "chain"):
            block = make_block(self.active()[-1], self.ordered()).block
            self.chain.submit(self.node.manager.dry_run, block).result()

    @invariant()
    def changes_tell_the_pool(self) -> None:
        if not hasattr(self, "chain"):
            return
        told: set[Txid] = set()
        for number, change in enumerate(self.listener.heard, 1):
            assert change.sequence == number
            (told.add if isinstance(change, Added) else told.discard)(change.entry.txid)
        assert told == self.held()
        assert self.pool.sequence == len(self.listener.heard) + 1


TestMempool = MempoolMachine.TestCase
TestMempool.settings = settings(
    max_examples=12,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
