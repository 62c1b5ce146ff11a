"""Where the databases are: the meaning of `-database=`.

Owns: reading the URL and refusing what can't work. Never: a connection.
"""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from clarion.node.errors import ConfigError


class Backend(Enum):
    """The kinds of database."""

    SQLITE_FILE = "sqlite file"
    SQLITE_MEMORY = "sqlite memory"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Location:
    """A place for the databases: a folder of SQLite files, a name in this process's memory, or a PostgreSQL URL."""

    backend: Backend
    folder: Path
    """For SQLITE_FILE: where the files are."""
    memory_name: str
    """For SQLITE_MEMORY: databases of the same name are shared in the process."""
    url: URL | None
    """For POSTGRESQL."""
    schema: str = ""
    """For POSTGRESQL: the schema, empty for the first of the session's search path."""

    @property
    def is_sqlite(self) -> bool:
        """Whether SQLite's dialect is spoken."""
        return self.backend is not Backend.POSTGRESQL

    def is_made(self) -> bool:
        """Whether SQLite's files are there; of a server only a connection can tell."""
        if self.backend is Backend.SQLITE_FILE:
            return (self.folder / "chain.sqlite").exists()
        return self.backend is Backend.POSTGRESQL

    def describe(self, component: str) -> str:
        """Return how messages name one database (`chain`, `coins`); without a password."""
        if self.backend is Backend.SQLITE_FILE:
            return str(self.folder / f"{component}.sqlite")
        if self.url is None:
            return f"{component} in memory"
        return self.url.render_as_string(hide_password=True)


def locate(url: str | None, chain_dir: Path) -> Location:
    """Return what `-database=` means, by default SQLite files in `<chain_dir>/chainstate`. Raises ConfigError.

    `sqlite:///FOLDER` names another folder, `sqlite://` keeps everything in memory (shared inside the process by
    everyone who names the same `chain_dir`), `postgresql+psycopg://…` is a PostgreSQL database.
    """
    if not url:
        return _sqlite_folder(chain_dir / "chainstate")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(f"-database: not a database URL: {_without_password(url)}") from None
    dialect, _, driver = parsed.drivername.partition("+")
    if dialect == "sqlite":
        if driver not in ("", "pysqlite"):
            raise ConfigError(f"-database: the SQLite driver {driver!r} is not supported, use sqlite:///FOLDER")
        if parsed.database in (None, "", ":memory:"):
            name = hashlib.sha256(os.fsencode(os.path.abspath(chain_dir))).hexdigest()[:16]
            return Location(Backend.SQLITE_MEMORY, chain_dir, name, None)
        folder = Path(str(parsed.database))
        # As with -datadir: of a mistyped path no folders are made.
        if not folder.absolute().parent.is_dir():
            raise ConfigError(f"-database: the folder {folder.parent} does not exist, in which {folder.name} would be")
        return _sqlite_folder(folder)
    if dialect in ("postgresql", "postgres"):
        return _postgresql(parsed, driver, chain_dir)
    raise ConfigError(f"-database: unknown dialect {dialect!r}; use sqlite:///FOLDER or postgresql+psycopg://…")


def _sqlite_folder(folder: Path) -> Location:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"-database: {folder} is a file; Clarion keeps several SQLite files, name a folder")
    if (folder / "CURRENT").exists():
        raise ConfigError(f"{folder} holds a LevelDB database of another program (Bitcoin Core?), not Clarion's")
    return Location(Backend.SQLITE_FILE, folder, "", None)


def _postgresql(parsed: URL, driver: str, chain_dir: Path) -> Location:
    if driver not in ("", "psycopg"):
        raise ConfigError(f"-database: the PostgreSQL driver {driver!r} is not supported, use postgresql+psycopg://…")
    if importlib.util.find_spec("psycopg") is None:
        raise ConfigError(
            "-database: the PostgreSQL driver is missing, install it with: pip install 'clarion[postgres]'"
        )
    return Location(Backend.POSTGRESQL, chain_dir, "", parsed.set(drivername="postgresql+psycopg"))


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.split(':', 1)[0]}:***@{tail}" if at else url
