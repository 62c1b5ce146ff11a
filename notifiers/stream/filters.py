"""Filters: which events a subscriber wants.

Owns: what a filter accepts, and the facts about an event that filters ask for, worked out at most once for all of them.
Never: reading the log, encoding.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from clarion.node.errors import StreamError
from clarion.node.events.cursor import Cursor
from clarion.node.events.encoding import TRANSACTION_EVENTS
from clarion.node.events.events import Event, TxAdded, TxConfirmed, TxRemoved, TxUnconfirmed
from clarion.node.events.expand import ALL_EVENTS
from clarion.node.events.mempool_rows import BLOCK_REASON
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.descriptor_range import MAX_RANGE, ScriptWindow
from clarion.node.primitives.opcodes import OP_RETURN
from clarion.node.primitives.script import read_op
from clarion.node.primitives.transaction import Transaction

EventType = type[Event]


class StreamEvent:
    """An event on its way to subscribers, with its cursor. Treat as immutable.

    `spent` are the outputs that its transaction spends, None where nobody asked for them or there is no transaction.
    """

    def __init__(self, event: Event, cursor: Cursor, spent: Sequence[SpentOutput] | None = None) -> None:
        self.event = event
        self.cursor = cursor
        self.tx: Transaction | None = event.tx if isinstance(event, TRANSACTION_EVENTS) else None
        """The transaction that the event carries."""
        self.spent = event.spent if isinstance(event, TxAdded) else spent

    def at(self, cursor: Cursor) -> "StreamEvent":
        """Return the same event with another cursor."""
        other = copy(self)
        other.cursor = cursor
        return other

    @cached_property
    def moved(self) -> Sequence[SpentOutput]:
        """Every output that the transaction makes or (where known) spends."""
        tx = self.tx
        return [] if tx is None else [*tx.outputs, *(self.spent or ())]

    @cached_property
    def scripts(self) -> frozenset[bytes]:
        """The scripts of those outputs."""
        return frozenset(output.script_pubkey for output in self.moved)

    @cached_property
    def script_hashes(self) -> frozenset[bytes]:
        """The SHA-256 of those scripts."""
        return frozenset(sha256(script).digest() for script in self.scripts)

    @cached_property
    def largest_sat(self) -> int:
        """The value of the largest of those outputs, -1 if there are none."""
        return max((output.value for output in self.moved), default=-1)

    @cached_property
    def outpoints(self) -> frozenset[bytes]:
        """The outpoints that the transaction spends."""
        tx = self.tx
        return frozenset() if tx is None else frozenset(each.prevout for each in tx.inputs)

    @cached_property
    def op_returns(self) -> list[bytes]:
        """What is pushed behind OP_RETURN in each output that begins with it; empty where it is no push."""
        tx = self.tx
        scripts = [] if tx is None else [output.script_pubkey for output in tx.outputs]
        return [_pushed(script) for script in scripts if script[:1] == bytes((OP_RETURN,))]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """What a subscriber wants. Keys are found by `in`: sets, or dictionaries, which the cyclic collector leaves alone.

    All hashes and outpoints are bytes in internal order, script hashes as SHA-256 gives them.

    An event passes if its type is wanted and, for events of transactions, one of the *keys* (`txids`, `scripts`,
    `windows`, `script_hashes`, `outpoints`, `op_returns`) fits or there are none, and one of the outputs concerned has
    `min_value_sat`. TxRemoved carries only a txid: for keys of another kind all are delivered, except for a block's,
    since TxConfirmed follows. `min_conf`: blocks and their transactions are told when they are so deep.
    `windows` grow with the events that are asked about, so a filter that has some belongs to one subscriber.
    """

    types: frozenset[EventType] = ALL_EVENTS
    txids: Collection[bytes] = frozenset()
    scripts: Collection[bytes] = frozenset()
    script_hashes: Collection[bytes] = frozenset()
    outpoints: Collection[bytes] = frozenset()
    op_returns: tuple[bytes, ...] = ()
    windows: tuple[ScriptWindow, ...] = ()
    min_value_sat: int = 0
    min_conf: int = 1

    @property
    def has_keys(self) -> bool:
        """Whether transactions are looked for by anything."""
        return bool(self.txids or self.has_content_keys)

    @property
    def has_content_keys(self) -> bool:
        """Whether transactions are looked for by what is in them."""
        return bool(self.scripts or self.windows or self.script_hashes or self.outpoints or self.op_returns)

    @property
    def needs_spent(self) -> bool:
        """Whether the outputs that transactions of blocks spend must be known."""
        spends = bool(self.scripts or self.windows or self.script_hashes or self.min_value_sat)
        return spends and bool(self.types & {TxConfirmed, TxUnconfirmed})

    def mark(self, cursor: Cursor) -> Cursor:
        """Return the cursor as this filter's subscriber is to be given it: with how far the windows have grown."""
        return replace(cursor, grown=tuple(window.last for window in self.windows)) if self.windows else cursor

    def resume(self, cursor: Cursor) -> None:
        """Let the windows be as they were at a cursor of the same filter. Raises StreamError `bad-request`."""
        if len(cursor.grown) != len(self.windows):
            return  # of another request, or of a node that did not write it down: the ranges count as they are named
        for window, end in zip(self.windows, cursor.grown, strict=True):
            if end - window.last > MAX_RANGE:
                raise StreamError(
                    "bad-request",
                    f"descriptors: the cursor's range ends more than {MAX_RANGE} indexes behind the one that is named: name "
                    "as `range` what has been in use so far",
                )
        for window, end in zip(self.windows, cursor.grown, strict=True):
            window.grow_to(end)

    def accepts(self, told: StreamEvent) -> bool:
        """Whether the event passes; confirmations apart, which are the reader's."""
        event = told.event
        if type(event) not in self.types:
            return False
        if isinstance(event, TxRemoved):
            return self._accepts_removed(event)
        if not isinstance(event, TRANSACTION_EVENTS):
            return True
        if self.has_keys and not self._fits(told):
            return False
        return not self.min_value_sat or self._is_worth(told)

    def _accepts_removed(self, event: TxRemoved) -> bool:
        if not self.has_keys or event.txid in self.txids:
            return True
        return self.has_content_keys and event.reason != BLOCK_REASON

    def _fits(self, told: StreamEvent) -> bool:
        tx = told.tx
        assert tx is not None
        # Asked first and all: a window grows with what is seen, whatever else lets the event pass.
        in_windows = [window for window in self.windows if window.note(told.scripts)]
        return bool(
            in_windows
            or tx.txid in self.txids
            or (self.outpoints and any(each in self.outpoints for each in told.outpoints))
            or (self.scripts and any(each in self.scripts for each in told.scripts))
            or (self.script_hashes and any(each in self.script_hashes for each in told.script_hashes))
            or any(data.startswith(self.op_returns) for data in told.op_returns)
        )

    def _is_worth(self, told: StreamEvent) -> bool:
        """Whether one output is worth enough: one with a wanted script, if any output has one."""
        if told.largest_sat < self.min_value_sat:
            return False
        concerned = [each.value for each in told.moved if self._is_wanted(each.script_pubkey)]
        return not concerned or max(concerned) >= self.min_value_sat

    def _is_wanted(self, script: bytes) -> bool:
        if script in self.scripts or any(script in window for window in self.windows):
            return True
        return bool(self.script_hashes) and sha256(script).digest() in self.script_hashes


def _pushed(script: bytes) -> bytes:
    op = read_op(script, 1)
    return b"" if op is None else op[1]
