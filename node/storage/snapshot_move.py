"""Moving a validated snapshot's SQLite file to where the ordinary coins were, before anything is opened.

Owns: the order in which files go and come: the program may be killed at any moment. Never: PostgreSQL (`snapshot_place`).
"""

import contextlib
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.storage.engine import reader_engine, writer_engine
from clarion.node.storage.faults import driver_errors
from clarion.node.storage.file_use import is_used
from clarion.node.storage.flat_files import sync_folder
from clarion.node.storage.location import Location
from clarion.node.storage.migrate import CHAIN, COINS, read_meta
from clarion.node.storage.snapshot_place import snapshot_location
from clarion.node.storage.snapshot_record import SNAPSHOT_KEY, SnapshotState, decode_record

logger = logging.getLogger(__name__)


def move_validated(location: Location) -> bool:
    """Move the coins of a snapshot whose history has been validated; whether nothing of them is left in its folder.

    They stay while another process reads one of the files. Raises ConfigError.
    """
    if not _is_validated(location):
        return False
    logger.info("[snapshot] cleaning up unneeded background chainstate, then reinitializing")
    return move_files(location)


def _is_validated(location: Location) -> bool:
    if not location.is_made():
        return False
    engine = reader_engine(location, CHAIN.name)
    try:
        with engine.connect() as connection, connection.begin():
            record = decode_record(read_meta(connection, CHAIN).get(SNAPSHOT_KEY))
    except driver_errors():
        # What is wrong with the file is found and told by those who look for damage.
        return False
    finally:
        engine.dispose()
    return record is not None and record.state is SnapshotState.VALIDATED


def move_files(main: Location) -> bool:
    """Let the file of a snapshot take the place of the ordinary coins'; False while another process has one of them open.

    Called by who holds the data directory's lock and has nothing open. May be killed at any moment and called again.
    Raises ConfigError.
    """
    place = snapshot_location(main, "")
    source, target = (each.folder / f"{COINS.name}.sqlite" for each in (place, main))
    if source.exists():
        if is_used(source) or is_used(target):
            return False
        try:
            with _folded(place):
                pass
            # The old log goes before its database: SQLite would write it into the new file.
            for suffix in ("-wal", "-shm", ""):
                Path(f"{target}{suffix}").unlink(missing_ok=True)
            source.replace(target)
            sync_folder(main.folder)
        except OSError as error:
            raise ConfigError(f"Cannot move {source} to {target}: {error.strerror}") from None
    shutil.rmtree(place.folder, ignore_errors=True)
    return True


@contextlib.contextmanager
def _folded(location: Location) -> Iterator[None]:
    """Open a SQLite file and close it: its log is folded into it then."""
    engine = writer_engine(location, COINS.name)
    try:
        with engine.connect() as connection, connection.begin():
            connection.exec_driver_sql("SELECT block_hash FROM coins_tip")
        yield
    finally:
        engine.dispose()
    if Path(f"{location.folder / COINS.name}.sqlite-wal").exists():
        raise ConfigError(f"{location.describe(COINS.name)}: its log could not be folded")
