"""Brings a database to this program's version, or says why it can't be used.

Owns: versions, identity (program, network, pair of databases) and running Alembic. Never: the chain's data.
"""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy.engine import Connection
from sqlalchemy.exc import SQLAlchemyError

from clarion.node.errors import ConfigError
from clarion.node.storage.engine import driver_sql
from clarion.node.storage.faults import first_line
from clarion.node.storage.location import Backend, Location

PROGRAM = b"clarion"


class Network(Protocol):
    """What storage must know of the network: its name and its magic, which tells custom signets apart."""

    @property
    def name(self) -> str: ...
    @property
    def magic(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Component:
    """One database with its own history of migrations. `head` is the newest one that this program knows."""

    name: str
    head: str
    meta_table: str
    tables: tuple[str, ...]

    @property
    def version_table(self) -> str:
        """Alembic's table, one a component: on PostgreSQL all components share a schema."""
        return f"clarion_{self.name}_version"


CHAIN = Component("chain", "0002", "meta", ("meta", "blocks", "active_chain", "event_log"))
COINS = Component("coins", "0001", "coins_meta", ("coins_meta", "coins", "coins_tip"))


def prepare(
    connection: Connection, component: Component, location: Location, network: Network, store_id: bytes
) -> bool:
    """Create or migrate the component's tables inside the caller's transaction; whether they were created.

    A new database is marked with the program, the network and `store_id` (for the chain: a fresh random one, which also
    becomes the log's id). Raises ConfigError for a database of a newer Clarion, another program or another network, and
    for coins that belong to another chain database.
    """
    name = location.describe(component.name)
    version = version_of(connection, component, location)
    if version is None:
        refuse_foreign_tables(connection, component, location)
    elif version > component.head:
        raise newer_version(name, version, component)
    if version != component.head:
        with _one_line(f"Cannot migrate the database {name}"):
            _run_alembic(connection, component)
    if version is None:
        _mark(connection, component, location, network, store_id)
    # The id of a chain database that was there already is its own; only coins must match one.
    check(connection, component, location, network, None if component is CHAIN else store_id)
    return version is None


def check(
    connection: Connection, component: Component, location: Location, network: Network, store_id: bytes | None = None
) -> None:
    """Raise ConfigError unless the database is ready for this program, of this network and (if given) this pair."""
    name = location.describe(component.name)
    version = version_of(connection, component, location)
    if version is None and location.backend is Backend.SQLITE_MEMORY:
        raise ConfigError(f"{name}: a database in memory can be read only by the process that keeps it")
    if version is None:
        what = "is not Clarion's" if table_names(connection, location) else "is empty: there is no chain in it"
        raise ConfigError(f"{name} {what} (no table {component.version_table})")
    if version > component.head:
        raise newer_version(name, version, component)
    if version < component.head:
        raise ConfigError(f"{name} has schema version {version}, older than this program's: start the node once")
    meta = read_meta(connection, component)
    check_identity(meta, name, network)
    if store_id is not None and meta.get("store_id") != store_id:
        raise ConfigError(f"{name} belongs to another chain database ({location.describe('chain')} is not its pair)")


def check_identity(meta: Mapping[str, bytes], name: str, network: Network) -> None:
    """Raise ConfigError if a database with these settings is another program's or another network's."""
    if meta.get("program") != PROGRAM:
        raise ConfigError(f"{name} is a database of another program ({_text(meta.get('program'))})")
    if meta.get("network") != network.name.encode():
        raise ConfigError(f"{name} is a database of network {_text(meta.get('network'))}, not of {network.name}")
    if meta.get("magic") != network.magic:
        raise ConfigError(
            f"{name} is a database of another {network.name} (magic {meta.get('magic', b'').hex()}, "
            f"not {network.magic.hex()})"
        )


def read_meta(connection: Connection, component: Component) -> dict[str, bytes]:
    """Return all settings of a component."""
    rows = connection.exec_driver_sql(f"SELECT key, value FROM {component.meta_table}")
    return {key: bytes(value) for key, value in rows}


def new_id() -> bytes:
    """Return 16 random hex digits, as ASCII bytes."""
    return secrets.token_hex(8).encode()


def newer_version(name: str, version: str, component: Component) -> ConfigError:
    """Return the error for a database of a version that this program does not know."""
    return ConfigError(
        f"{name} was written by a newer Clarion (schema version {version}, this program knows up to {component.head})"
    )


def _text(value: bytes | None) -> str:
    return "unnamed" if value is None else value.decode(errors="replace")


def table_names(connection: Connection, location: Location) -> set[str]:
    """Return the names of the tables in the database, or in the first schema of the search path."""
    if location.is_sqlite:
        return {name for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    (schema,) = connection.exec_driver_sql("SELECT current_schema()").one()
    if schema is None:
        raise ConfigError(f"{location.describe('chain')}: no schema of the search path exists")
    rows = connection.exec_driver_sql("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,))
    return {name for (name,) in rows}


def version_of(connection: Connection, component: Component, location: Location) -> str | None:
    """Return the version of a component's tables, None where none is stored."""
    if component.version_table not in table_names(connection, location):
        return None
    row = connection.exec_driver_sql(f"SELECT version_num FROM {component.version_table}").first()
    return None if row is None else str(row[0])


def refuse_foreign_tables(connection: Connection, component: Component, location: Location) -> None:
    """Raise ConfigError if tables without a version bear the names of ours."""
    # On PostgreSQL other programs' tables may stand beside ours, unless they bear our names.
    clash = sorted(table_names(connection, location).intersection(component.tables))
    if clash:
        raise ConfigError(f"{location.describe(component.name)} holds tables of another program: {', '.join(clash)}")


def _mark(connection: Connection, component: Component, location: Location, network: Network, store_id: bytes) -> None:
    values = {
        "program": PROGRAM,
        "network": network.name.encode(),
        "magic": network.magic,
        "store_id": store_id,
    }
    if component is CHAIN:
        values["log_id"] = store_id
    insert = driver_sql(location, f"INSERT INTO {component.meta_table} (key, value) VALUES (?, ?)")
    connection.exec_driver_sql(insert, list(values.items()))


def _run_alembic(connection: Connection, component: Component) -> None:
    # Imported here: a start that has nothing to migrate does not pay for it.
    from alembic import command
    from alembic.config import Config

    folder = Path(__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", _escaped(folder))
    config.set_main_option("version_locations", _escaped(folder / component.name))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    config.attributes["version_table"] = component.version_table
    command.upgrade(config, "head")


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%%")


@contextlib.contextmanager
def _one_line(what: str) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise ConfigError(f"{what}: {first_line(error)}") from error
