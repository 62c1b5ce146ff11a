"""Accepting one transaction.

Owns: the order of all checks of a single transaction (AcceptSingleTransaction), in one go or in two halves with the
scripts in between. Never: the checks themselves, threads (see `acceptor`). Used on the chain thread.
"""

from dataclasses import dataclass

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.entering import enter, tell
from clarion.node.mempool.accept.outcome import accepted, refused
from clarion.node.mempool.accept.prechecks import check_alone, check_in_chain, check_in_pool, stage
from clarion.node.mempool.accept.rejection import MaxFeeExceeded, TxRejected, TxRejection
from clarion.node.mempool.accept.replacement import check_spends_no_conflict, replacement_checks
from clarion.node.mempool.accept.result import AcceptResult
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.script_step import POLICY_FLAGS, run_scripts
from clarion.node.mempool.accept.unlocked import Unlocked
from clarion.node.mempool.accept.workspace import Subpackage, Workspace
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.policy.ephemeral import MISSING_EPHEMERAL_SPENDS, check_ephemeral_spends
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction


@dataclass(slots=True)
class Waiting:
    """A transaction that passed everything but its scripts, with the state of the world that this holds for."""

    args: AcceptArgs
    ws: Workspace
    job: ScriptJob
    block_flags: int
    replaced: list[MempoolEntry]
    generation: int
    tip_number: int

    @property
    def result(self) -> AcceptResult:
        """What a test ends with once the scripts have passed."""
        return accepted(self.ws, [])

    def holds(self, scene: Scene) -> bool:
        """Whether neither tip nor pool have changed."""
        return scene.pool.generation == self.generation and scene.tip.number == self.tip_number


def accept_single(scene: Scene, args: AcceptArgs, tx: Transaction) -> AcceptResult:
    """Judge a transaction, with its scripts, and take it in unless this is a test."""
    result = offer_single(scene, args, tx, leave_scripts=False)
    assert isinstance(result, AcceptResult)
    return result


def offer_single(scene: Scene, args: AcceptArgs, tx: Transaction, *, leave_scripts: bool) -> AcceptResult | Waiting:
    """Do the same; with `leave_scripts`, scripts that take long are left to others and the pool is as it was."""
    pool, scripts, ws = scene.pool, scene.scripts, Workspace(tx)
    try:
        _judge_first(scene, args, ws)
        with pool.lock:
            with pool.change_set() as changes:
                sub = Subpackage(changes)
                _judge_in_pool(scene, args, sub, ws)
                job, block_flags = ScriptJob(tx, ws.spent, 0), scene.block_flags
                if leave_scripts and scripts.takes_long(job) and not scripts.known(job, POLICY_FLAGS, block_flags):
                    return Waiting(args, ws, job, block_flags, changes.removed, pool.generation, scene.tip.number)
                with Unlocked(pool.lock):
                    run_scripts(scripts, job, block_flags)
                if args.test_accept:
                    return accepted(ws, [])
                check_max_fee(args, ws)
                replaced = enter(sub)
            return _stay(scene, args, ws, replaced)
    except TxRejected as error:
        return refused(error, ws)


def finish_single(scene: Scene, waiting: Waiting) -> AcceptResult:
    """Take a transaction in whose scripts have passed, while what it was judged by holds."""
    pool, ws = scene.pool, waiting.ws
    try:
        with pool.lock:
            with pool.change_set() as changes:
                sub = Subpackage(changes)
                stage(scene, waiting.args, sub, ws)
                for entry in waiting.replaced:
                    changes.stage_removal(entry)
                sub.count_members([ws])
                sub.count_replaced(waiting.replaced)
                replaced = enter(sub)
            return _stay(scene, waiting.args, ws, replaced)
    except TxRejected as error:
        return refused(error, ws)


def check_max_fee(args: AcceptArgs, ws: Workspace) -> None:
    """Raise MaxFeeExceeded if a transaction, which would come in, pays more than its sender allows."""
    if args.max_base_fee_sat is not None and ws.base_fee_sat > args.max_base_fee_sat:
        raise MaxFeeExceeded


def _judge_first(scene: Scene, args: AcceptArgs, ws: Workspace) -> None:
    check_alone(ws.tx, scene.pool.options)
    scene.prefetch([ws.tx])
    check_in_chain(scene, args, ws)


def _judge_in_pool(scene: Scene, args: AcceptArgs, sub: Subpackage, ws: Workspace) -> None:
    """Judge fee, relatives and replacement; on return all is staged."""
    pool = scene.pool
    check_in_pool(scene, args, sub, ws)
    if sub.replaces:
        replacement_checks(pool, sub, ws)
    # Ancestors may be walked only once the cluster is known to be small.
    if not sub.changes.check_limits():
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "too-large-cluster")
    if ws.conflicts:
        check_spends_no_conflict(sub, ws)
    sub.count_members([ws])
    if args.client_maxfeerate is not None and ws.feerate > args.client_maxfeerate:
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "max feerate exceeded")
    if not args.bypass_limits and pool.options.require_standard and ws.parents:
        _check_dust_is_spent(pool, ws.tx)


def _check_dust_is_spent(pool: Mempool, tx: Transaction) -> None:
    fault = check_ephemeral_spends([tx], pool.options.dust_relay_feerate, lambda txid: pooled(pool, txid))
    if fault is not None:
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, MISSING_EPHEMERAL_SPENDS, fault.debug)


def pooled(pool: Mempool, txid: Txid) -> Transaction | None:
    """Return a transaction of the pool, None if it is not there."""
    entry = pool.get(txid)
    return entry.tx if entry is not None else None


def _stay(scene: Scene, args: AcceptArgs, ws: Workspace, replaced: list[Transaction]) -> AcceptResult:
    """Bring the pool within its limits and tell of the transaction, if it is not what had to go."""
    pool = scene.pool
    if not args.package_submission and not args.bypass_limits:
        pool.limit_size()
        if ws.tx.txid not in pool:
            raise TxRejected(TxRejection.TX_RECONSIDERABLE, "mempool full")
    tell(scene, ws, limits_bypassed=args.bypass_limits, in_package=args.package_submission)
    if args.local:
        pool.add_unbroadcast(ws.tx.txid)
    return accepted(ws, replaced)
