"""What is told of each change of the pool.

Owns: the reasons of removal, the two messages and the protocol of who hears them. Never: telling clients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from clarion.node.mempool.entry import MempoolEntry
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import Txid


class RemovalReason(StrEnum):
    """Why a transaction left the pool without having been confirmed, by the reference's names."""

    EXPIRY = "expiry"
    SIZELIMIT = "sizelimit"
    REORG = "reorg"
    CONFLICT = "conflict"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Added:
    """A transaction came into the pool. `sequence` is the pool's number of this change.

    The last four are what fee estimation asks: whether it was let in without regard to fee limits, whether it came in
    a package, whether the chain was up to date, and whether none of its inputs is unconfirmed.
    """

    entry: MempoolEntry
    sequence: int
    spent: Sequence[Coin]
    """The coin that each input spends."""
    limits_bypassed: bool = False
    in_package: bool = False
    chain_current: bool = False
    no_pool_parents: bool = True


@dataclass(frozen=True, slots=True)
class Removed:
    """A transaction left the pool unconfirmed. `sequence` is the pool's number of this change."""

    entry: MempoolEntry
    reason: RemovalReason
    sequence: int
    replaced_by: Txid | None = None
    """With reason `replaced`: the transaction that took its place."""


class PoolObserver(Protocol):
    """Hears every change in the order of the reference's signals, on the chain thread and under the pool's lock."""

    def tx_added(self, added: Added) -> None: ...
    def tx_removed(self, removed: Removed) -> None: ...

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        """A block that is about to be committed holds these transactions; their removals have the numbers from `sequence`.

        Called once for those that follow each other, in between the removals of their conflicts.
        """
        ...

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """The transactions that the block at `height` confirmed have been taken out. Called for every block.

        By then the block is committed, unless the node is catching up.
        """
        ...
