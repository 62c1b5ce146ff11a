"""NOTIFY on a PostgreSQL server, which need not be the chain's.

Owns: the connection and the statement. Never: what is told.
"""

from collections.abc import Sequence

from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import make_url

from clarion.node.errors import StorageError
from clarion.node.storage.faults import driver_errors, storage_errors

MAX_PAYLOAD_BYTES = 7999
"""What the server takes in one notification."""

_NOTIFY = "SELECT pg_notify(%s, %s)"


class NotifyChannel:
    """Notifies who listens to one channel. Used by one thread."""

    def __init__(self, url: str, channel: str, timeout_s: float) -> None:
        """`url` is `postgresql://…`; nothing is connected yet."""
        self._channel = channel
        timeout_ms = int(timeout_s * 1000)
        self._engine: Engine = create_engine(
            make_url(url).set(drivername="postgresql+psycopg"),
            pool_size=1,
            max_overflow=0,
            connect_args={
                "connect_timeout": max(2, int(timeout_s)),
                "tcp_user_timeout": timeout_ms,
                "options": f"-c statement_timeout={timeout_ms}",
            },
        )

    def notify(self, payloads: Sequence[str]) -> None:
        """Send all payloads in one transaction: who listens gets all, in order, or none. Raises StorageError."""
        try:
            with storage_errors("NOTIFY"), self._engine.begin() as connection:
                for payload in payloads:
                    connection.exec_driver_sql(_NOTIFY, (self._channel, payload))
        except StorageError:
            # A connection that a server's end has broken must not be tried again.
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the next notification makes a new one."""
        try:
            self._engine.dispose()
        except driver_errors():
            pass
