"""A chain manager over real storage in a temporary folder, without threads, for tests that drive it step by step."""

from collections.abc import Sequence
from pathlib import Path

from clarion.node.app.snapshot import open_snapshot
from clarion.node.chain.block_scripts import ScriptChecker
from clarion.node.chain.clock import Clock
from clarion.node.chain.manager import ChainManager
from clarion.node.chain.outcome import BlockOutcome
from clarion.node.chain.state import ChainOptions
from clarion.node.chain.stores import ChainStores
from clarion.node.events.row import EventKind, EventRow
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.database import Database, open_database
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.validation.inline_queue import InlineQueue
from clarion.node.validation.pipeline import ScriptPipeline
from helpers.chain_builder import Built
from helpers.node_database import database_url

FAR_AGE = 10**10
"""A -maxtipage that ends initial download with the first block after genesis."""


OPEN: "set[ChainNode]" = set()
"""Nodes that are open now: what a test leaves open is closed behind it (tests/conftest.py)."""


class ChainNode:
    """Opens the database, loads the chain, and can be closed and opened again to play a restart."""

    def __init__(
        self,
        folder: Path,
        *,
        max_tip_age: int = FAR_AGE,
        clock: Clock | None = None,
        checker: ScriptChecker | None = None,
        database: str | None = None,
        params: ChainParams | None = None,
    ) -> None:
        """`database` is a URL; by default the one that all tests use. `params` are regtest's by default."""
        self.folder = folder
        self.url = database or database_url(folder)
        self.params = params or select_params("regtest")
        self.clock = clock or Clock()
        self._options = ChainOptions(minimum_chainwork=0, assume_valid=None, max_tip_age=max_tip_age)
        self._checker = checker or ScriptPipeline(InlineQueue())
        self.database: Database
        self.manager: ChainManager
        self.open()

    def open_database(self) -> None:
        """Open the storage only."""
        self.database = open_database(self.url, self.folder, self.params)
        OPEN.add(self)
        folder, magic = self.folder / "blocks", self.params.magic
        folder.mkdir(parents=True, exist_ok=True)
        self.block_files, self.undo_files = BlockFiles(folder, magic), UndoFiles(folder, magic)

    def open(self) -> None:
        """Open the storage and load the chain."""
        self.open_database()
        self.stores = ChainStores(self.database.chain, self.database.coins, self.block_files, self.undo_files)
        snapshot_coins = open_snapshot(self.database, self.params)
        if snapshot_coins is not None:
            self.stores.coins, self.stores.background = snapshot_coins, self.database.coins
        self.manager = ChainManager(self.params, self.stores, self._checker, self._options, self.clock)
        self.manager.load()
        self.manager.set_importing(False)

    def close(self) -> None:
        """Close the storage without a commit: what was not committed is lost, as in a crash."""
        self.block_files.close()
        self.undo_files.close()
        self.database.close()
        OPEN.discard(self)

    def restart(self) -> None:
        """Close and open again."""
        self.close()
        self.open()

    def submit(self, *blocks: Built) -> list[BlockOutcome]:
        """Process blocks in order and commit, as the chain thread does."""
        outcomes = []
        for built in blocks:
            assert built.block is not None
            outcomes.append(self.manager.process_new_block(built.block))
            self.manager.commit()
        return outcomes

    def reasons(self, *blocks: Built) -> list[str | None]:
        """Submit blocks and return why each was refused, None where it was not."""
        return [outcome.invalid.reject_reason if outcome.invalid else None for outcome in self.submit(*blocks)]

    @property
    def tip(self) -> bytes:
        """Hash of the tip, internal order."""
        return self.manager.tip.hash

    def rows(self, after: int = 0) -> list[EventRow]:
        """Return the rows of the event log."""
        return self.database.events.read(after, 100_000)

    def story(self, names: Sequence[Built], after: int = 0) -> list[str]:
        """Return the log in short, with each block by its index in `names`: `+2` connected, `-2` disconnected, `=2` tip."""
        index = {built.hash: position for position, built in enumerate(names)}
        signs = {EventKind.BLOCK_CONNECTED: "+", EventKind.BLOCK_DISCONNECTED: "-", EventKind.TIP_CHANGED: "="}
        return [f"{signs[row.kind]}{index.get(row.block_hash, '?')}" for row in self.rows(after)]
