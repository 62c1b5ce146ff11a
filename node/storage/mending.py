"""SQLite files that are damaged or missing: found before anything is opened, thrown away if a rebuild was asked for.

Owns: what counts as damage, and that nothing goes for another reason. Never: filling what takes their place.

Locked files, missing permissions, a full disk, other programs' and networks' databases and newer versions are refused
here, before anything is thrown away.
"""

import logging
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import Connection

from clarion.node.errors import ConfigError
from clarion.node.storage.engine import is_claimed, reader_engine
from clarion.node.storage.faults import driver_errors, failure, first_line, is_damage, repair_advice
from clarion.node.storage.file_use import is_used
from clarion.node.storage.location import Location
from clarion.node.storage.migrate import (
    CHAIN,
    COINS,
    Component,
    Network,
    check_identity,
    newer_version,
    read_meta,
    refuse_foreign_tables,
    table_names,
    version_of,
)
from clarion.node.storage.rebuild_step import REBUILD_KEY, Rebuild

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Found:
    """What a look at one file gave."""

    component: Component
    path: Path
    fault: str = ""
    is_empty: bool = False
    """Whether it is missing, or no table was ever made in it."""
    store_id: bytes = b""
    rebuild_step: bytes = b""
    has_chain: bool = False

    @property
    def reason(self) -> str:
        """Why it is given up."""
        return self.fault or "its chain database can't be used"


def mend_files(location: Location, network: Network, rebuild: Rebuild, blocks_dir: Path | None) -> None:
    """Make way for a rebuild of what can't be used, or raise ConfigError, in one line that names the option for it.

    Called by who holds the data directory's lock and has nothing open. `rebuild` is what is about to begin: WIPE_ALL
    gives up any damaged file, WIPE_CHAINSTATE the coins alone. Before one of them the whole files are read, else only
    their heads. Nothing goes if `blocks_dir` is given and has no block files to fill the gap with.
    """
    thorough = rebuild is not Rebuild.NONE
    chain = _look(location, CHAIN, network, thorough)
    coins = _look(location, COINS, network, thorough)
    _compare(chain, coins, location)
    if chain.fault and rebuild is not Rebuild.WIPE_ALL:
        raise _refusal(chain)
    # A rebuild that was begun wipes the coins too.
    wipes_coins = thorough or chain.rebuild_step in (Rebuild.WIPE_ALL.value, Rebuild.WIPE_CHAINSTATE.value)
    if coins.fault and not wipes_coins:
        raise _refusal(coins)
    given_up = [found for found in (coins, chain) if found.fault or (chain.fault and not found.is_empty)]
    for found in given_up:
        _refuse_used(found.path)
    full = [found for found in given_up if not found.is_empty]
    if full and blocks_dir is not None and next(blocks_dir.glob("blk?????.dat"), None) is None:
        raise ConfigError(
            f"{blocks_dir} holds no block files to build {full[-1].path} from, which can't be used: {full[-1].reason}"
        )
    # The coins go first: a chain database without them is known to lack them, coins without theirs as well.
    for found in given_up:
        _throw_away(found)


def mend_index(location: Location, component: str) -> None:
    """Throw the file of an index away if it can't be opened for damage: for a rebuild, and an index that holds nothing else.

    Only its head is looked at; indexes are large. Raises ConfigError for what is no damage.
    """
    name = location.describe(component)
    path = Path(name)
    if not path.exists():
        return
    engine = reader_engine(location, component)
    try:
        with engine.connect() as connection, connection.begin():
            table_names(connection, location)
        return
    except driver_errors() as error:
        if not is_damage(error):
            raise ConfigError(f"Cannot open the database {failure(name, error)}") from error
        fault = first_line(error)
    finally:
        engine.dispose()
    _refuse_used(path)
    logger.warning("%s: %s. It is thrown away and built again", path, fault)
    _remove(path)


def _look(location: Location, component: Component, network: Network, thorough: bool) -> _Found:
    name = location.describe(component.name)
    found = _Found(component, Path(name))
    try:
        found.is_empty = found.path.stat().st_size == 0
    except FileNotFoundError:
        found.is_empty = True
    except OSError as error:
        raise ConfigError(f"Cannot open the database {name}: {error.strerror}") from None
    if found.is_empty:
        return found
    engine = reader_engine(location, component.name)
    try:
        with engine.connect() as connection, connection.begin():
            _read(connection, found, location, network, thorough)
    except driver_errors() as error:
        if not is_damage(error):
            raise ConfigError(f"Cannot open the database {failure(name, error)}") from error
        found.fault = first_line(error)
    finally:
        engine.dispose()
    return found


def _read(connection: Connection, found: _Found, location: Location, network: Network, thorough: bool) -> None:
    component, name = found.component, str(found.path)
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    # Raises for what is another program's.
    is_ours = is_claimed(raw, name)
    tables = table_names(connection, location)
    if not is_ours or not tables:
        found.is_empty = True
        return
    version = version_of(connection, component, location)
    if version is not None and version > component.head:
        raise newer_version(name, version, component)
    if component.version_table not in tables:
        refuse_foreign_tables(connection, component, location)
        raise ConfigError(
            f"{name} holds something else than the {component.name} database: {', '.join(sorted(tables))}"
        )
    missing = sorted(set(component.tables) - tables)
    if version is None:
        found.fault = f"its version is not in {component.version_table}"
    elif version == component.head and missing:
        found.fault = f"it has no table {missing[0]}"
    if component.meta_table in tables:
        _read_meta(connection, found, network)
    if "active_chain" in tables:
        found.has_chain = connection.exec_driver_sql("SELECT 1 FROM active_chain LIMIT 1").first() is not None
    if thorough and not found.fault:
        logger.info("Checking %s for damage…", name)
        found.fault = _first_damage(connection)


def _read_meta(connection: Connection, found: _Found, network: Network) -> None:
    meta = read_meta(connection, found.component)
    check_identity(meta, str(found.path), network)
    found.store_id = meta.get("store_id", b"")
    if found.component is CHAIN and not {"store_id", "log_id"} <= meta.keys():
        found.fault = found.fault or f"its table {CHAIN.meta_table} has no ids"
    found.rebuild_step = meta.get(REBUILD_KEY, b"")


def _first_damage(connection: Connection) -> str:
    lines = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()).splitlines()
    return "" if lines == ["ok"] else lines[-1]


def _compare(chain: _Found, coins: _Found, location: Location) -> None:
    """Find what is wrong with the two as a pair. Neither of them: that is a new node."""
    if chain.is_empty:
        if not coins.is_empty:
            chain.fault = f"it is missing or empty, and {coins.path} is not"
    elif chain.fault or coins.fault:
        return
    elif coins.is_empty:
        if chain.has_chain:
            coins.fault = f"it is missing or empty, and {chain.path} is not"
    elif coins.store_id != chain.store_id:
        coins.fault = f"it belongs to another chain database ({location.describe('chain')} is not its pair)"


def _refusal(found: _Found) -> ConfigError:
    return ConfigError(f"Cannot use the database {found.path}: {found.fault}{repair_advice(str(found.path))}")


def _refuse_used(path: Path) -> None:
    """Raise ConfigError if another process has a database open, or it may not be written to."""
    if is_used(path):
        raise ConfigError(f"{path} is damaged, and another process has it open: end that process first")


def _throw_away(found: _Found) -> None:
    if found.is_empty:
        logger.info("%s: %s. It is made anew from the block files", found.path, found.fault)
    else:
        text = "%s: %s. It is thrown away and made anew from the block files. %s"
        logger.warning(text, found.path, found.reason, _LOST[found.component.name])
    _remove(found.path)


def _remove(database: Path) -> None:
    # The log goes before its database: SQLite would write an old log into a new file.
    for suffix in ("-wal", "-shm", ""):
        path = Path(f"{database}{suffix}")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigError(f"Cannot remove {path}: {error.strerror}") from None


_LOST = {
    "coins": "Nothing else was in it.",
    "chain": (
        "With it go the event log (subscribers and lanes start in a new one), the marks of invalidateblock, "
        "and the contents of indexes and watches, which are counted again; lanes' places and the "
        "definitions of watches lie in files of their own and stay."
    ),
}
