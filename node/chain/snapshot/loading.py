"""From a file of all unspent outputs to coins in the database, checked by their hash.

Owns: the order of checks, writing in parts, and that nothing is left of a load that fails. Never: the format
(`storage.utxo_snapshot_reader`), the switch to the new chain (`snapshots`).
Runs on the caller's thread while the chain goes on; a kill leaves coins behind that no record names.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from typing import BinaryIO

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.service import ChainService
from clarion.node.errors import SnapshotError, StorageError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.coin_hash import coin_bytes
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.coin_sql import CoinRow
from clarion.node.storage.coin_store import CoinStore, key_outpoint
from clarion.node.storage.snapshot_place import SnapshotPlace
from clarion.node.storage.utxo_snapshot_reader import SnapshotCoins, SnapshotHead

ROWS_AT_ONCE = 20_000
HASHED_AT_ONCE = 1_000
LOG_INTERVAL_S = 10.0

logger = logging.getLogger(__name__)


class Interrupted(Exception):
    """The node is about to stop."""


def hash_coins(store: CoinStore, interrupted: Callable[[], bool]) -> bytes:
    """Return `hash_serialized_3` (internal order) of all coins that are stored. Raises Interrupted, StorageError."""
    digest = sha256()
    with store.snapshot() as view:
        rows = view.rows()
        while part := list(islice(rows, HASHED_AT_ONCE)):
            digest.update(b"".join([_hashed(row) for row in part]))
            if interrupted():
                raise Interrupted
    return sha256(digest.digest()).digest()


def _hashed(row: CoinRow) -> bytes:
    key, value, code, script = row
    return coin_bytes(key_outpoint(key), Coin(value, script, code))


class SnapshotLoader:
    """Loads snapshots, one at a time."""

    def __init__(
        self,
        service: ChainService,
        place: SnapshotPlace,
        pool_size: Callable[[], int],
        interrupted: Callable[[], bool],
        on_active: Callable[[], None],
    ) -> None:
        """`pool_size` counts the mempool's transactions; `on_active` is called once a snapshot is the active chain."""
        self._service = service
        self._snapshots = service.manager.snapshots
        self._place = place
        self._pool_size = pool_size
        self._interrupted = interrupted
        self._on_active = on_active
        self._one_at_a_time = threading.Lock()

    def load(self, file: BinaryIO, head: SnapshotHead) -> BlockIndexEntry:
        """Make the coins of a file, which stands behind its head, those of the tip; return the block that they belong to.

        Raises SnapshotError in the reference's words, StorageError.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            raise SnapshotError("Another snapshot is being loaded")
        try:
            base = self._submit(self._find_base, head)
            try:
                store = self._populate(file, head, base)
                self._place.name_base(base.hash)
                self._submit(self._activate, head, store)
            except BaseException as error:
                if self._snapshots.record is None:
                    self._place.remove()
                if isinstance(error, Interrupted):
                    raise SnapshotError("Population failed: Aborting after an interrupt was requested") from None
                raise
        finally:
            self._one_at_a_time.release()
        self._on_active()
        return base

    def _submit(self, call: Callable[..., BlockIndexEntry], *args: object) -> BlockIndexEntry:
        return self._service.submit(call, *args).result()

    def _find_base(self, head: SnapshotHead) -> BlockIndexEntry:
        if self._service.manager.state.importing:
            raise SnapshotError("Blocks are being loaded from files; call loadtxoutset again when that is done")
        return self._snapshots.find_base(head.base, self._pool_size())

    def _populate(self, file: BinaryIO, head: SnapshotHead, base: BlockIndexEntry) -> CoinStore:
        data = self._service.manager.state.params.assume_utxo_of(base.hash)
        assert data is not None
        if not self._service.submit(self._snapshots.has_more_work, base).result():
            raise SnapshotError("Population failed: Work does not exceed active chainstate")
        logger.info("[snapshot] loading %d coins from snapshot %s", head.coins, hash_to_hex(base.hash))
        store = self._place.create()
        try:
            self._write(store, SnapshotCoins(file, head.coins, base.height))
        except SnapshotError as error:
            raise SnapshotError(f"Population failed: {error}") from None
        except OSError as error:
            raise SnapshotError(f"Population failed: the file can't be read: {error.strerror}") from None
        store.end_load(base.hash)
        logger.info("[snapshot] loaded %d coins from snapshot %s", head.coins, hash_to_hex(base.hash))
        found = hash_coins(store, self._interrupted)
        if found != data.hash_serialized:
            raise SnapshotError(
                f"Population failed: Bad snapshot content hash: expected {hash_to_hex(data.hash_serialized)}, got "
                f"{hash_to_hex(found)}"
            )
        return store

    def _write(self, store: CoinStore, coins: SnapshotCoins) -> None:
        told = time.monotonic()
        for part in _parts(coins.rows(), ROWS_AT_ONCE):
            store.load(part)
            if self._interrupted():
                raise Interrupted
            if time.monotonic() - told > LOG_INTERVAL_S:
                told = time.monotonic()
                logger.info("[snapshot] %d coins loaded", coins.done)

    def _activate(self, head: SnapshotHead, store: CoinStore) -> BlockIndexEntry:
        # The chain went on meanwhile: all that was asked before is asked again.
        base = self._find_base(head)
        if not self._snapshots.has_more_work(base):
            raise SnapshotError("work does not exceed active chainstate")
        try:
            self._snapshots.activate(base, store, secrets.token_bytes(8))
        except StorageError:
            logger.error("[snapshot] the snapshot could not be made the active chain")
            raise
        return base


def _parts(rows: Iterator[CoinRow], size: int) -> Iterator[list[CoinRow]]:
    while part := list(islice(rows, size)):
        yield part
