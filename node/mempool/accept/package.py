"""Accepting a package: a child with its parents, or a single transaction.

Owns: which members are tried alone and which together, and what is told of each (AcceptPackage). Never: judging a
member (see `single`, `multiple`). Used on the chain thread.
"""

from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.multiple import accept_multiple
from clarion.node.mempool.accept.outcome import in_pool, refused
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.result import AcceptResult, PackageError, PackageRejection, PackageResult
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.single import accept_single
from clarion.node.mempool.policy.packages import Package, is_child_with_parents, is_well_formed_package
from clarion.node.primitives.ids import Wtxid
from clarion.node.primitives.transaction import Transaction

_TRANSACTION_FAILED = PackageError(PackageRejection.PCKG_TX, "transaction failed")
_RETRIED = (TxRejection.TX_RECONSIDERABLE, TxRejection.TX_MISSING_INPUTS)
"""What a transaction may fail for alone and still come in with its package."""


def accept_package(scene: Scene, args: AcceptArgs, package: Package) -> PackageResult:
    """Take in as much of the package as is worth it.

    Each member is tried alone first, so that nobody's fee is used for others without need; what failed for want of fees
    or parents is then tried together. A member that came in before may have been evicted by the end.
    """
    fault = is_well_formed_package(package)
    if fault is None and len(package) > 1 and not is_child_with_parents(package):
        fault = "package-not-child-with-parents"
    if fault is not None:
        return PackageResult(PackageError(PackageRejection.PCKG_POLICY, fault), {})
    scene.prefetch(package)
    attempt = _Attempt(scene, args, package)
    attempt.try_alone()
    attempt.try_together()
    with scene.pool.lock:
        scene.pool.limit_size()
        return attempt.conclude()


class _Attempt:
    """One package under way."""

    def __init__(self, scene: Scene, args: AcceptArgs, package: Package) -> None:
        self._scene = scene
        self._args = args
        self._package = package
        self._there: dict[Wtxid, AcceptResult] = {}
        """Members in the pool, since long or by themselves."""
        self._failed: dict[Wtxid, AcceptResult] = {}
        """Members that failed alone."""
        self._left: list[Transaction] = []
        """Those among them that may come in together."""
        self._together = PackageResult(None, {})

    def try_alone(self) -> None:
        """Try each member that is not in the pool."""
        pool = self._scene.pool
        args = self._args.for_single()
        hopeless = False
        for tx in self._package:
            # One with the same txid but another witness stands for the member, whose own witness is not even looked at.
            entry = pool.get(tx.txid)
            if entry is not None:
                self._there[tx.wtxid] = in_pool(entry, tx.wtxid)
                continue
            result = accept_single(self._scene, args, tx)
            if result.valid:
                self._there[tx.wtxid] = result
                continue
            self._failed[tx.wtxid] = result
            error = result.error
            if len(self._package) == 1 or error is None or error.rejection not in _RETRIED:
                # A package helps with fees only, so it can't come in whole. The others are still tried by themselves.
                hopeless = True
            else:
                self._left.append(tx)
        if hopeless:
            self._left = []
            self._together = PackageResult(_TRANSACTION_FAILED, {})

    def try_together(self) -> None:
        """Try what is left as one."""
        if len(self._left) > 1:
            self._together = accept_multiple(self._scene, self._args, self._left)
        elif self._left:
            (tx,) = self._left
            result = accept_single(self._scene, self._args.for_single(), tx)
            self._together = PackageResult(None if result.valid else _TRANSACTION_FAILED, {tx.wtxid: result})

    def conclude(self) -> PackageResult:
        """Return the result of each member, now that the pool is within its limits."""
        pool, error = self._scene.pool, self._together.error
        results: dict[Wtxid, AcceptResult] = {}
        for tx in self._package:
            result = self._together.results.get(tx.wtxid) or self._there.get(tx.wtxid)
            if result is None:
                result = self._failed[tx.wtxid]
            elif result.error is None and pool.get(tx.txid) is None:
                error = _TRANSACTION_FAILED
                result = refused(TxRejected(TxRejection.TX_MEMPOOL_POLICY, "mempool full"))
            results[tx.wtxid] = result
        return PackageResult(error, results)
