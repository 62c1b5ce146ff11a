"""Unwinds the judging of a package.

Owns: the exception. Never leaves this package: callers get a `PackageResult`.
"""

from clarion.node.mempool.accept.result import AcceptResult, PackageError, PackageRejection, PackageResult
from clarion.node.primitives.ids import Wtxid


class PackageFailed(Exception):
    """A package is refused; `results` tell of the members that are to blame, if it is not the package as a whole."""

    def __init__(
        self,
        rejection: PackageRejection,
        reject_reason: str,
        debug: str = "",
        results: dict[Wtxid, AcceptResult] | None = None,
    ) -> None:
        super().__init__(reject_reason, debug)
        self.error = PackageError(rejection, reject_reason, debug)
        self.results = results or {}

    @property
    def result(self) -> PackageResult:
        """What callers get."""
        return PackageResult(self.error, self.results)


def member_failed(wtxid: Wtxid, result: AcceptResult, reason: str = "transaction failed") -> PackageFailed:
    """Return the failure of a package one of whose members was refused."""
    return PackageFailed(PackageRejection.PCKG_TX, reason, results={wtxid: result})


def policy_failed(reason: str, debug: str = "") -> PackageFailed:
    """Return the failure of a package that breaks a rule as a whole."""
    return PackageFailed(PackageRejection.PCKG_POLICY, reason, debug)
