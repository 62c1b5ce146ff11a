"""The one connection that writes a database, and what happens when its server goes away.

Owns: transactions, trying them again, and knowing whether one that broke off was committed. Never: a statement about
the chain's data.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.engine import Connection

from clarion.node.errors import ConfigError, StorageError
from clarion.node.storage.checkpointer import Checkpointer
from clarion.node.storage.claim import WriterClaim
from clarion.node.storage.faults import Outage, Patience, driver_errors, failure, is_passing, storage_errors

T = TypeVar("T")

_LOCK_WAIT_S = 5.0


class Writer:
    """Runs transactions, one after the other, for any thread.

    A server that goes away makes a transaction take longer: it is tried again on a new connection, with the lock taken
    anew, until it is known to be committed. StorageError is final.
    """

    def __init__(self, engine: Engine, name: str, patience: Patience, claim: WriterClaim | None = None) -> None:
        """`claim` is for PostgreSQL. Raises ConfigError."""
        self.name = name
        self._engine = engine
        self._patience = patience
        self._claim = claim
        self.checkpointer: Checkpointer | None = None
        """For a SQLite file."""
        self._lock = threading.Lock()
        self._closed = False
        self._lost = False
        try:
            self._connection = engine.connect()
        except driver_errors() as error:
            engine.dispose()
            raise ConfigError(f"Cannot open the database {failure(name, error)}") from error

    def claim(self) -> None:
        """Keep other nodes from writing. Raises ConfigError if one does already."""
        if self._claim is None:
            return
        with self.transaction() as connection:
            if not self._try_lock(self._claim, connection):
                raise ConfigError(
                    f"Cannot obtain the writer's lock on database {self.name}. Clarion is probably already running."
                )

    def begin_marks(self) -> None:
        """From now on a transaction can be tried again. The tables must be there."""
        if self._claim is not None:
            with self.transaction() as connection:
                self._claim.begin(connection)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that is tried once, for opening the store. Raises StorageError."""
        with self._lock, storage_errors(self.name), self._connection.begin():
            yield self._connection

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction and return its result once that is committed.

        `work` runs again if the server went away meanwhile. Raises StorageError when it can't be committed; then none
        of it is stored, unless the server never answered again after it was told to commit.
        """
        with self._in_turn():
            if self.checkpointer is not None:
                self.checkpointer.hold_back()
            result = self._until_committed(work, self._claim)
            if self.checkpointer is not None:
                self.checkpointer.committed(self._connection)
            return result

    def read(self, work: Callable[[Connection], T]) -> T:
        """The same for `work` that writes nothing."""
        with self._in_turn():
            return self._until_committed(work, None)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise StorageError(f"{self.name}: the database is closed")
            yield

    def _until_committed(self, work: Callable[[Connection], T], claim: WriterClaim | None) -> T:
        outage = Outage(self.name, self._patience)
        done: tuple[T, bytes | None] | None = None
        while True:
            try:
                # Only a transaction that failed behind its last statement can have been committed unheard.
                if self._lost and self._regain(done[1] if done else None) and done is not None:
                    break
                done = None
                with self._connection.begin():
                    result = work(self._connection)
                    done = (result, claim.leave_mark(self._connection) if claim else None)
                break
            except driver_errors() as error:
                self._lost = self._lost or is_passing(error)
                outage.wait(error)
        if claim is not None and done[1] is not None:
            claim.settle(done[1])
        outage.end()
        return done[0]

    def _regain(self, doubtful: bytes | None) -> bool:
        """Connect and lock anew; whether the transaction that left the mark `doubtful` was committed."""
        assert self._claim is not None
        if not self._connection.closed:
            self._connection.invalidate()
            self._connection.close()
        self._connection = self._engine.connect()
        with self._connection.begin():
            self._claim.end_old_session(self._connection)
        with self._connection.begin():
            if not self._try_lock(self._claim, self._connection):
                raise StorageError(f"{self.name}: another node has taken the writer's lock; this one can't go on")
            committed = self._claim.was_committed(self._connection, doubtful)
        self._lost = False
        return committed

    @staticmethod
    def _try_lock(claim: WriterClaim, connection: Connection) -> bool:
        # A server may need a moment to notice that a killed node, or our own lost session, is gone.
        deadline = time.monotonic() + _LOCK_WAIT_S
        while not claim.acquire(connection):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def make_durable(self) -> None:
        """Return once everything committed so far outlives a power cut. Raises StorageError."""
        # A server that confirms a commit has it on its disk.
        if self.checkpointer is not None:
            try:
                self.checkpointer.make_durable()
            except OSError as error:
                raise StorageError(f"{self.name}: {error.strerror}") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._closed = True
            if self.checkpointer is not None:
                self.checkpointer.close()
            self._connection.close()
            self._engine.dispose()
