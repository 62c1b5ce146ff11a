"""The mempool over a chain: random offers, replacements, packages, blocks and reorganisations against a slow model."""

import tempfile
from collections.abc import Sequence
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
from clarion.node.primitives.ids import BlockHash, OutPoint, Txid, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.script_cache import ScriptCache
from clarion.node.validation.tx_scripts import TxScripts
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode
from helpers.pool import Listener
from helpers.pool_model import ModelCoins, Relations, check_pool

SPENDABLE = 6
BASE = make_chain(genesis(), 100 + SPENDABLE)
START = BASE[-1].time + 1_000_000
EXPIRY_S = 7200
OPTIONS = MempoolOptions(
    require_standard=False, check_ratio=1, expiry_s=EXPIRY_S, limits=MempoolLimits(cluster_count=6)
)

CHOICE = st.integers(0, 2**16)
FEES = st.one_of(st.integers(0, 60), st.integers(100, 20_000), st.integers(20_000, 1_000_000))


class Draft(NamedTuple):
    """A transaction to be made: which coins, what fee, how many inputs and outputs.

    `contest`: it spends a coin that the pool spends already.
    """

    choice: int
    fee: int
    spread: int
    contest: bool


DRAFTS = st.builds(Draft, CHOICE, FEES, CHOICE, st.booleans())


class MempoolMachine(RuleBasedStateMachine):
    """Drives a real chain, pool and acceptance; what must come of each step is worked out by the model."""

    @initialize()
    def build(self) -> None:
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
        coins = self.coins()
        values = {outpoint: value for outpoint, (value, _) in coins.coins.items()}
        for tx in self.ordered():
            coins.add(tx)
        values.update((outpoint, value) for outpoint, (value, _) in coins.coins.items())
        free = sorted(
            outpoint
            for outpoint, (value, height) in coins.coins.items()
            if value > 2_000_000 and (height is None or height <= SPENDABLE + 1)
        )
        taken = sorted(self.pool.next_tx)
        first = taken if draft.contest and taken else free
        picked = [first[draft.choice % len(first)]] if first else []
        picked += [free[draft.choice * step % len(free)] for step in range(2, 2 + draft.spread % 3) if free]
        # An outpoint that the pool makes and spends has no value in the end: its parent knows it.
        spent = {outpoint: values.get(outpoint) or self.value_of(outpoint) for outpoint in picked}
        return self.make_tx(spent, draft.fee, 1 + draft.spread // 3 % 3)

    def value_of(self, outpoint: OutPoint) -> int:
        return self.made[outpoint_txid(outpoint)].outputs[outpoint_index(outpoint)].value

    def make_tx(self, spent: dict[OutPoint, int], fee: int, outputs: int) -> Transaction:
        self.nonce += 1
        total = sum(spent.values())
        each = (total - min(fee, total)) // outputs
        outs = [TxOut(each, OP_TRUE) for _ in range(outputs)]
        outs.append(TxOut(0, b"\x6a" + self.nonce.to_bytes(4, "big")))
        tx = Transaction(2, [TxIn(outpoint) for outpoint in spent], outs)
        self.made[tx.txid] = tx
        return tx

    # --- what may happen --------------------------------------------------------------------------------------------

    @rule(drafts=st.lists(DRAFTS, min_size=1, max_size=5))
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

    @rule(draft=DRAFTS, fee=FEES)
    def offer_package(self, draft: Draft, fee: int) -> None:
        parent = self.write(draft)
        output = OutPoint(parent.txid + bytes(4))
        child = self.make_tx({output: parent.outputs[0].value}, fee, 1)
        result = self.service.accept_package([parent, child])
        for tx in (parent, child):
            found = result.results.get(tx.wtxid)
            assert (tx.txid in self.pool) == (found is not None and found.valid)

    @rule(count=st.integers(0, 8), surprises=st.lists(DRAFTS, max_size=3))
    def mine(self, count: int, surprises: list[Draft]) -> None:
        waiting = self.ordered()
        confirmed = waiting[:count]
        for draft in surprises:
            extra = self.write(draft)
            coins = self.coins()
            for tx in confirmed:
                coins.add(tx)
            # It may contradict what is in the pool, but not what is in the block.
            if coins.fee(extra) is not None:
                confirmed = [*confirmed, extra]
        self.submit([self.block_on(self.active()[-1], confirmed)])
        assert self.held() == self.survivors(waiting)

    def block_on(self, prev: Built, txs: Sequence[Transaction]) -> Built:
        self.nonce += 1
        return make_block(prev, txs, extra_nonce=self.nonce)

    @precondition(lambda self: len(self.active()) > len(BASE))
    @rule(depth=st.integers(1, 3), keep=CHOICE)
    def reorganise(self, depth: int, keep: int) -> None:
        active = self.active()
        fork = max(len(BASE), len(active) - depth)
        left = [tx for built in active[fork:] for tx in built.txs[1:]]
        # What is kept stands behind all that it spends: only such a set can be in the new block.
        branch = [self.block_on(active[fork - 1], left[: keep % (len(left) + 1)])]
        while len(branch) <= len(active) - fork:
            branch.append(self.block_on(branch[-1], []))
        waiting = self.ordered()
        self.submit(branch)
        assert self.active()[-1] == branch[-1]
        self.check_return(active, waiting)

    @precondition(lambda self: len(self.active()) > len(BASE))
    @rule()
    def invalidate_and_reconsider(self) -> None:
        before = self.active()
        entry = self.node.manager.lookup(BlockHash(before[-1].hash))
        assert entry is not None
        for verdict in (self.node.manager.invalidate_block, self.node.manager.reconsider_block):
            active, waiting = self.active(), self.ordered()
            self.chain.submit(verdict, entry).result()
            self.check_return(active, waiting)
        assert self.active() == before

    def check_return(self, before: Sequence[Built], waiting: Sequence[Transaction]) -> None:
        """Check that all is in the pool that left the chain or waited before and can still wait."""
        after = {built.hash for built in self.active()}
        left = [tx for built in before if built.hash not in after for tx in built.txs[1:]]
        expected = self.survivors([*left, *waiting])
        clusters = Relations({txid: self.made[txid] for txid in expected}).clusters.values()
        if all(len(cluster) <= OPTIONS.limits.cluster_count for cluster in clusters):
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
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
