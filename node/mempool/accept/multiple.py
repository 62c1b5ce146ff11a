"""Accepting several transactions together: all or none.

Owns: the order of all checks (AcceptMultipleTransactions). Never: the checks themselves, which transactions are worth
trying together (see `package`). Used on the chain thread.
"""

import logging
from collections.abc import Sequence

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.entering import enter, tell
from clarion.node.mempool.accept.outcome import accepted, fee_refused, refused
from clarion.node.mempool.accept.package_failure import PackageFailed, member_failed, policy_failed
from clarion.node.mempool.accept.prechecks import check_alone, check_feerate, check_in_chain, check_in_pool
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.replacement import package_rbf_checks
from clarion.node.mempool.accept.result import AcceptResult, PackageResult
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.script_step import run_scripts
from clarion.node.mempool.accept.single import pooled
from clarion.node.mempool.accept.unlocked import Unlocked
from clarion.node.mempool.accept.workspace import Subpackage, Workspace
from clarion.node.mempool.graph import Level
from clarion.node.mempool.policy.ephemeral import MISSING_EPHEMERAL_SPENDS, check_ephemeral_spends
from clarion.node.mempool.policy.packages import Package, is_well_formed_package, package_hash
from clarion.node.mempool.policy.truc import package_truc_checks
from clarion.node.primitives.ids import Wtxid, hash_to_hex
from clarion.node.primitives.transaction import Transaction

_Results = dict[Wtxid, AcceptResult]

logger = logging.getLogger(__name__)


def accept_multiple(scene: Scene, args: AcceptArgs, txs: Package) -> PackageResult:
    """Judge transactions one on top of the other and, unless this is a test, take all of them in.

    None may be in the pool, and parents come first.
    """
    try:
        fault = is_well_formed_package(txs)
        if fault is not None:
            raise policy_failed(fault)
        scene.prefetch(txs)
        with scene.pool.lock, scene.pool.change_set() as changes:
            return PackageResult(None, _Multiple(scene, args, txs, Subpackage(changes)).accept())
    except PackageFailed as failed:
        return failed.result
    finally:
        scene.coins.clear_package()


class _Multiple:
    """One call of `accept_multiple`."""

    def __init__(self, scene: Scene, args: AcceptArgs, txs: Package, sub: Subpackage) -> None:
        self._scene = scene
        self._args = args
        self._txs = txs
        self._sub = sub
        self._members = [Workspace(tx) for tx in txs]

    def accept(self) -> _Results:
        """Return the results of all members. Raises PackageFailed at the first fault."""
        pool, sub = self._scene.pool, self._sub
        for ws in self._members:
            self._pre_check(ws)
        self._check_truc()
        sub.count_members(self._members)
        if self._args.package_feerates:
            self._check_package_feerate()
        if sub.replaces:
            package_rbf_checks(pool, sub, self._members)
            self._log_replacement()
        if not sub.changes.check_limits():
            raise policy_failed("too-large-cluster")
        if pool.options.require_standard:
            self._check_dust_is_spent()
        with Unlocked(pool.lock):
            self._check_scripts()
        replaced = [] if self._args.test_accept else self._enter()
        return self._results(self._members, replaced)

    def _pre_check(self, ws: Workspace) -> None:
        scene, args = self._scene, self._args
        try:
            check_alone(ws.tx, scene.pool.options)
            check_in_chain(scene, args, ws)
            check_in_pool(scene, args, self._sub, ws)
            if args.client_maxfeerate is not None and ws.feerate > args.client_maxfeerate:
                raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "max feerate exceeded")
        except TxRejected as error:
            # Alone, a fee that is too low would be told with its rate; here the package has its own.
            raise member_failed(ws.tx.wtxid, refused(error)) from None
        # No two members spend the same coin, and none spends what another replaces: a replacement has no parents in the
        # pool. So the coins that a member makes can be offered to the next ones without more ado.
        scene.coins.add_package_transaction(ws.tx)

    def _check_truc(self) -> None:
        pool = self._scene.pool
        for ws in self._members:
            fault = package_truc_checks(
                ws.tx,
                ws.entry.vsize,
                self._txs,
                ws.parents,
                lambda entry: pool.graph.ancestors(entry, Level.MAIN),
                pool.descendants,
            )
            if fault is not None:
                raise policy_failed("TRUC-violation", fault)

    def _check_package_feerate(self) -> None:
        sub = self._sub
        try:
            check_feerate(self._scene.pool, sub.total_vsize, sub.total_modified_fee_sat)
        except TxRejected as error:
            result = fee_refused(error, sub.feerate, self._wtxids)
            raise member_failed(self._members[-1].tx.wtxid, result) from None

    def _check_dust_is_spent(self) -> None:
        pool = self._scene.pool
        fault = check_ephemeral_spends(self._txs, pool.options.dust_relay_feerate, lambda txid: pooled(pool, txid))
        if fault is not None:
            error = TxRejected(TxRejection.TX_MEMPOOL_POLICY, MISSING_EPHEMERAL_SPENDS, fault.debug)
            raise member_failed(fault.wtxid, refused(error), "unspent-dust")

    def _check_scripts(self) -> None:
        for number, ws in enumerate(self._members):
            try:
                run_scripts(self._scene.scripts, ScriptJob(ws.tx, ws.spent, 0), self._scene.block_flags)
            except TxRejected as error:
                failed = member_failed(ws.tx.wtxid, refused(error))
                if self._args.test_accept:
                    # What stands before it has passed; nothing else could keep it out.
                    failed.results |= self._results(self._members[:number], [])
                raise failed from None

    def _enter(self) -> list[Transaction]:
        replaced = enter(self._sub)
        for ws in self._members:
            tell(self._scene, ws, in_package=self._args.package_submission)
        return replaced

    def _results(self, members: Sequence[Workspace], replaced: list[Transaction]) -> _Results:
        results: _Results = {}
        for ws in members:
            if self._args.package_feerates:
                result = accepted(ws, replaced, feerate=self._sub.feerate, wtxids=self._wtxids)
            else:
                result = accepted(ws, replaced)
            results[ws.tx.wtxid] = result
            # The first member tells what was replaced.
            replaced = []
        return results

    @property
    def _wtxids(self) -> list[Wtxid]:
        return [ws.tx.wtxid for ws in self._members]

    def _log_replacement(self) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            parent, child = self._txs
            logger.debug(
                "package RBF checks passed: parent %s (wtxid=%s), child %s (wtxid=%s), package hash (%s)",
                hash_to_hex(parent.txid),
                hash_to_hex(parent.wtxid),
                hash_to_hex(child.txid),
                hash_to_hex(child.wtxid),
                hash_to_hex(package_hash(self._txs)),
            )
