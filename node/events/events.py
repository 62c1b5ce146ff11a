"""Events: what consumers are told, as values.

Owns: the event types and their identity. Never: where events come from or how they are delivered.
"""

from dataclasses import dataclass

from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import BlockHash, Txid
from clarion.node.primitives.transaction import Transaction, TxOut


@dataclass(frozen=True, slots=True, order=True)
class EventId:
    """The identity of an event: equal identities are the same event told again, so consumers drop repeats by it.

    `log` is the random id of the event log in hex (new after a reindex or a restore), `seq` the row, `index` the
    event's fixed place in that row's whole expansion. Within one log the order of (seq, index) is the order of events.
    """

    log: str
    seq: int
    index: int

    def __str__(self) -> str:
        return f"{self.log}.{self.seq}.{self.index}"


@dataclass(frozen=True, slots=True)
class Event:
    """What every event carries: its identity, when the node logged it (Unix seconds), and the block that it is about.

    Events of the mempool are about the tip: the last block that the log had told by then. `block_hash` is in internal
    order.
    """

    id: EventId
    time: int
    height: int
    block_hash: BlockHash


@dataclass(frozen=True, slots=True)
class TxConfirmed(Event):
    """A transaction entered the active chain, at `position` (0 is the coinbase) of its block."""

    tx: Transaction
    position: int


@dataclass(frozen=True, slots=True)
class TxUnconfirmed(Event):
    """A transaction left the active chain with its block, where it was at `position`."""

    tx: Transaction
    position: int


@dataclass(frozen=True, slots=True)
class BlockConnected(Event):
    """The block became the last of the active chain."""

    block: Block


@dataclass(frozen=True, slots=True)
class BlockDisconnected(Event):
    """The block, which was the last of the active chain, left it."""

    block: Block


@dataclass(frozen=True, slots=True)
class TipChanged(Event):
    """A step of the chain ended here: one or more blocks were connected, or blocks were only disconnected.

    `fork_hash` is the last block that the chains before and after the step share; it equals `block_hash` where blocks
    were only disconnected. `initial_download` says that the node is still catching up with the network.
    """

    fork_hash: BlockHash
    initial_download: bool


@dataclass(frozen=True, slots=True)
class TxAdded(Event):
    """A transaction entered the mempool.

    `fee_sat` in satoshis; `vsize` in virtual bytes, which many signature operations raise; `spent` are the outputs that
    its inputs spend, in their order; `mempool_sequence` is the number that Core's topic `sequence` gives the change.
    """

    tx: Transaction
    fee_sat: int
    vsize: int
    spent: tuple[TxOut, ...]
    mempool_sequence: int


@dataclass(frozen=True, slots=True)
class TxRemoved(Event):
    """A transaction left the mempool.

    `reason` is `block` (a block has it: TxConfirmed follows), `conflict` (a block has another that spends the same),
    `replaced` (by `replaced_by`), `expiry`, `sizelimit` or `reorg`. Hashes are in internal order.
    """

    txid: Txid
    reason: str
    replaced_by: Txid | None
    mempool_sequence: int


@dataclass(frozen=True, slots=True)
class MempoolReset(Event):
    """The mempool starts empty: forget what it held. The TxAdded that follow are the new whole.

    `mempool_sequence` is the number that the next change will have.
    """

    mempool_sequence: int
