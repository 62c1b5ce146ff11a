"""What is found out about transactions while they are judged.

Owns: the values that the checks hand to each other. Never: the checks.
"""

from collections.abc import Iterable

from clarion.node.mempool.change_set import ChangeSet
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.lock_points import LockPoints
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction


class Workspace:
    """One transaction. What a check fills in is there for those behind it."""

    __slots__ = (
        "base_fee_sat",
        "conflicts",
        "entry",
        "lock_points",
        "parents",
        "sibling_eviction",
        "sigop_cost",
        "spends_coinbase",
        "spent",
        "tx",
    )

    entry: MempoolEntry
    """The staged entry: modified fee, adjusted size."""
    spent: list[Coin]
    """The coin that each input spends."""
    parents: list[MempoolEntry]
    """The entries that it spends from, by txid."""
    lock_points: LockPoints
    base_fee_sat: int
    sigop_cost: int
    spends_coinbase: bool

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self.conflicts: dict[Txid, MempoolEntry] = {}
        """Entries that spend what this one does, or that it may push out as its sibling."""
        self.sibling_eviction = False

    @property
    def feerate(self) -> FeeRate:
        """The modified fee over the adjusted size."""
        return FeeRate(self.entry.fee_sat, self.entry.vsize)


class Subpackage:
    """One or several transactions that come in together or not at all, with the change of the pool that they mean."""

    def __init__(self, changes: ChangeSet) -> None:
        self.changes = changes
        self.total_modified_fee_sat = 0
        self.total_vsize = 0
        self.replaces = False
        """Whether any of them conflicts with the pool."""
        self.conflicting_fee_sat = 0
        """Modified fees of all that would go."""
        self.conflicting_vsize = 0

    def count_members(self, members: Iterable[Workspace]) -> None:
        """Add up the fees and sizes of what comes in."""
        for ws in members:
            self.total_modified_fee_sat += ws.entry.fee_sat
            self.total_vsize += ws.entry.vsize

    def count_replaced(self, replaced: Iterable[MempoolEntry]) -> None:
        """Add up the fees and sizes of what goes."""
        for entry in replaced:
            self.conflicting_fee_sat += entry.fee_sat
            self.conflicting_vsize += entry.vsize

    @property
    def feerate(self) -> FeeRate:
        """The rate of all members together."""
        return FeeRate(self.total_modified_fee_sat, self.total_vsize)
