"""The door of the mempool: transactions and packages are offered here, from any thread.

Owns: what runs on the chain thread and what does not, and repeating what changed in between. Never: judging (see
`single`, `package`).

Where there are script workers, a transaction whose scripts take long is accepted in two halves: a job on the chain
thread judges all but its scripts, which then run elsewhere; a second job takes it in. If the tip or the pool changed in
between, the second job judges everything again and finds the scripts in the script cache. Otherwise all is one job: for
a few usual inputs a second one would cost more than it spares.
Where the operator has rules of his own, a job before all shows what they ask for; they are asked on the caller's thread,
and again if the tip moved before the transaction is judged.
"""

from collections.abc import Callable, Sequence

from clarion.node.chain.service import ChainService
from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.kept_coins import KeptCoins
from clarion.node.mempool.accept.multiple import accept_multiple
from clarion.node.mempool.accept.operator_policy import OperatorPolicy, TransactionView, look, objection
from clarion.node.mempool.accept.outcome import refused
from clarion.node.mempool.accept.package import accept_package
from clarion.node.mempool.accept.package_failure import member_failed
from clarion.node.mempool.accept.rejection import TxRejected
from clarion.node.mempool.accept.result import AcceptResult, PackageResult
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.script_step import POLICY_FLAGS, run_scripts
from clarion.node.mempool.accept.single import Waiting, accept_single, check_max_fee, finish_single, offer_single
from clarion.node.mempool.accept.warming import scripts_to_warm
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.packages import Package
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.transaction import Transaction
from clarion.node.validation.tx_scripts import TxScripts

Before = Callable[[Scene], AcceptResult | None]
"""Looks at the scene first, in the same job, and may answer in place of the checks."""


class Acceptor:
    """Takes transactions into one pool."""

    def __init__(
        self, pool: Mempool, chain: ChainService, scripts: TxScripts, policy: OperatorPolicy | None = None
    ) -> None:
        self._policy = policy
        self._pool = pool
        self._chain = chain
        self._scripts = scripts
        pool.observers.append(KeptCoins(chain.manager.state))

    # --- any thread but the chain's ---------------------------------------------------------------------------------

    def accept(self, tx: Transaction, *, test: bool = False, accept_time: int | None = None) -> AcceptResult:
        """Offer a transaction; `test` only finds out. Raises StorageError."""
        time = self.now() if accept_time is None else accept_time
        return self.offer(tx, AcceptArgs.single(time, test=test))

    def offer(self, tx: Transaction, args: AcceptArgs, before: Before | None = None) -> AcceptResult:
        """Offer a transaction by itself. Raises MaxFeeExceeded, StorageError."""
        while True:
            refusal, tip_number = self._ask([tx], args)
            if refusal is not None:
                return refused(refusal[1])
            result = self._offer(tx, args, before, tip_number)
            if result is not None:
                return result

    def _offer(
        self, tx: Transaction, args: AcceptArgs, before: Before | None, tip_number: int | None
    ) -> AcceptResult | None:
        """Offer a transaction; None if the tip is not the one that the operator's rules were asked about."""
        begun = self._chain.submit(self._begin, tx, args, before, tip_number).result()
        if not isinstance(begun, Waiting):
            return begun
        try:
            run_scripts(self._scripts, begun.job, begun.block_flags)
        except TxRejected as error:
            return refused(error)
        check_max_fee(args, begun.ws)
        return begun.result if args.test_accept else self._chain.submit(self._finish, begun, tip_number).result()

    def accept_package(
        self, package: Package, *, test: bool = False, client_maxfeerate: FeeRate | None = None
    ) -> PackageResult:
        """Offer transactions that depend on each other, parents first. Raises StorageError.

        A test judges any list, one on top of the other; else it must be a child with its parents.
        """
        time = self.now()
        args = AcceptArgs.package_test(time) if test else AcceptArgs.child_with_parents(time, client_maxfeerate)
        while True:
            refusal, tip_number = self._ask(package, args)
            if refusal is not None:
                return member_failed(refusal[0].wtxid, refused(refusal[1])).result
            if self._scripts.has_workers:
                self._warm(package, args)
            result = self._chain.submit(self._package, package, args, tip_number).result()
            if result is not None:
                return result

    def now(self) -> int:
        """Return the time that a transaction gets which is offered now (Unix seconds)."""
        return self._pool.clock.now()

    def _ask(
        self, txs: Sequence[Transaction], args: AcceptArgs
    ) -> tuple[tuple[Transaction, TxRejected] | None, int | None]:
        """Ask the operator's rules; return (what they object to, the tip that this holds for), nothing without rules."""
        if self._policy is None:
            return None, None
        views, tip_number = self._chain.submit(self._look, txs, args).result()
        return objection(self._policy, views), tip_number

    def _warm(self, package: Package, args: AcceptArgs) -> None:
        jobs, block_flags = self._chain.submit(self._scripts_of, package, args).result()
        for job in jobs:
            if self._scripts.check(job, POLICY_FLAGS, block_flags) is not None:
                return

    # --- the chain thread -------------------------------------------------------------------------------------------

    def accept_now(
        self, tx: Transaction, *, accept_time: int, bypass_limits: bool = False, test: bool = False
    ) -> AcceptResult:
        """Offer a transaction from within a job. `bypass_limits`: a reorganisation brings it back."""
        args = AcceptArgs.single(accept_time, bypass_limits=bypass_limits, test=test)
        return accept_single(self._scene(), args, tx)

    def _look(self, txs: Sequence[Transaction], args: AcceptArgs) -> tuple[list[TransactionView], int]:
        scene = self._scene()
        return look(scene, args, txs), scene.tip.number

    def _begin(
        self, tx: Transaction, args: AcceptArgs, before: Before | None, tip_number: int | None
    ) -> AcceptResult | Waiting | None:
        scene = self._scene()
        if tip_number not in (None, scene.tip.number):
            return None
        told = before(scene) if before is not None else None
        return told if told is not None else offer_single(scene, args, tx, leave_scripts=self._scripts.has_workers)

    def _finish(self, begun: Waiting, tip_number: int | None) -> AcceptResult | None:
        scene = self._scene()
        if tip_number not in (None, scene.tip.number):
            return None
        if begun.holds(scene):
            return finish_single(scene, begun)
        return accept_single(scene, begun.args, begun.job.tx)

    def _scripts_of(self, package: Package, args: AcceptArgs) -> tuple[list[ScriptJob], int]:
        scene = self._scene()
        return scripts_to_warm(scene, args, package), scene.block_flags

    def _package(self, package: Package, args: AcceptArgs, tip_number: int | None) -> PackageResult | None:
        scene = self._scene()
        if tip_number not in (None, scene.tip.number):
            return None
        accept = accept_multiple if args.test_accept else accept_package
        return accept(scene, args, package)

    def _scene(self) -> Scene:
        return Scene(self._pool, self._chain.manager, self._scripts)
