"""A chain whose event log tells of reorganisations and mempool traffic, and a reader of that log.

Owns: making history from a list of steps. Never: asserting.
"""

from collections.abc import Sequence
from pathlib import Path

from clarion.node.events.mempool_rows import added_body, removed_body, reset_body
from clarion.node.events.row import EventKind
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.stream.log_reader import LogReader
from helpers.chain_builder import OP_TRUE, Built, genesis, make_block
from helpers.chain_node import ChainNode
from helpers.node_database import database_url

Step = tuple[str, int]
"""`("blocks", n)`, `("reorganise", depth)`, `("add", n)`, `("remove", n)` or `("reset", 0)`."""


class EventChain:
    """A chain node in a folder; `play` makes history."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.node = ChainNode(folder)
        self.chain: list[Built] = [genesis()]
        self.branches = 0
        self.sequence = 1
        self.held: list[Transaction] = []

    def play(self, steps: Sequence[Step]) -> "EventChain":
        """Make history."""
        for what, number in steps:
            getattr(self, f"_{what}")(number)
            self.node.manager.commit()
        return self

    def reader(self) -> LogReader:
        """Return a reader of the log; `close` closes it."""
        self._reader = ChainReader(database_url(self.folder), self.folder, self.node.params)
        return LogReader(self._reader)

    def close(self) -> None:
        """Close reader and node."""
        self._reader.close()
        self.node.close()

    def _blocks(self, count: int) -> None:
        for _ in range(count):
            self.chain.append(make_block(self.chain[-1], extra_nonce=self.branches))
            self.node.submit(self.chain[-1])

    def _reorganise(self, depth: int) -> None:
        depth = min(depth, len(self.chain) - 1)
        del self.chain[len(self.chain) - depth :]
        self.branches += 1
        for _ in range(depth + 1):
            self.chain.append(make_block(self.chain[-1], extra_nonce=self.branches))
        self.node.submit(*self.chain[-depth - 1 :])

    def _add(self, count: int) -> None:
        for _ in range(count):
            output = TxOut(1000 + self.sequence, OP_TRUE)
            tx = Transaction(2, [TxIn(make_outpoint(bytes(32), self.sequence))], [output])
            body = added_body(self.sequence, 200, tx.vsize, tx.raw, [TxOut(output.value + 200, OP_TRUE)])
            self.node.manager.journal.pool_row(EventKind.TX_ADDED, body, txid=tx.txid)
            self.held.append(tx)
            self.sequence += 1

    def _remove(self, count: int) -> None:
        for tx in self.held[:count]:
            body = removed_body(self.sequence)
            self.node.manager.journal.pool_row(EventKind.TX_REMOVED, body, txid=tx.txid, reason="expiry")
            self.sequence += 1
        del self.held[:count]

    def _reset(self, _: int) -> None:
        self.held, self.sequence = [], 1
        self.node.manager.journal.pool_row(EventKind.MEMPOOL_RESET, reset_body(1))
