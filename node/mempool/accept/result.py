"""What came of offering transactions to the mempool.

Owns: the results for one transaction and for a package. Never: the checks, formats of clients.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from clarion.node.mempool.accept.rejection import TxRejected
from clarion.node.mempool.feerate import FeeRate
from clarion.node.primitives.ids import Wtxid
from clarion.node.primitives.transaction import Transaction


class ResultKind(Enum):
    """What became of one transaction."""

    VALID = auto()
    """It was accepted, or would have been if this was a test."""
    INVALID = auto()
    MEMPOOL_ENTRY = auto()
    """It was in the mempool before."""
    DIFFERENT_WITNESS = auto()
    """It was not judged: one with the same txid is in the mempool."""


@dataclass(frozen=True, slots=True)
class AcceptResult:
    """What became of one transaction.

    `vsize` is sigop-adjusted, in virtual bytes. `effective_feerate` is the rate that it was judged by, with modified
    fees; it and the wtxids whose fees and sizes it contains are there for what is VALID and for failures over fees.
    """

    kind: ResultKind
    error: TxRejected | None = None
    replaced: list[Transaction] = field(default_factory=list)
    """What left the mempool for it. Of a package, the first result names all."""
    vsize: int | None = None
    base_fee_sat: int | None = None
    effective_feerate: FeeRate | None = None
    wtxids_fee_calculations: list[Wtxid] | None = None
    other_wtxid: Wtxid | None = None
    """The transaction in the mempool that has the same txid, of a DIFFERENT_WITNESS."""

    @property
    def valid(self) -> bool:
        """Whether the transaction was accepted."""
        return self.kind is ResultKind.VALID


class PackageRejection(Enum):
    """Why a package failed, by the reference's names (PackageValidationResult)."""

    PCKG_POLICY = auto()
    """The package as a whole breaks a rule."""
    PCKG_TX = auto()
    """At least one of its transactions failed."""
    PCKG_MEMPOOL_ERROR = auto()
    """Our own fault."""


@dataclass(frozen=True, slots=True)
class PackageError:
    """Why a package failed. `str()` is what clients see: the reason, then `, debug` where there is one."""

    rejection: PackageRejection
    reject_reason: str
    debug: str = ""

    def __str__(self) -> str:
        return f"{self.reject_reason}, {self.debug}" if self.debug else self.reject_reason


@dataclass(frozen=True, slots=True)
class PackageResult:
    """What became of a package. Transactions without a result were not judged to the end."""

    error: PackageError | None
    results: dict[Wtxid, AcceptResult]
