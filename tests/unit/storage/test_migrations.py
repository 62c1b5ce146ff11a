"""Migrations: their heads, and SQLite files of other programs."""

import sqlite3
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

import clarion.node.storage.migrate as migrate
from clarion.node.errors import ConfigError
from clarion.node.storage.database import open_database
from clarion.node.storage.migrate import CHAIN, COINS, Component
from helpers.databases import FakeNetwork


@pytest.mark.parametrize("component", [CHAIN, COINS], ids=lambda component: component.name)
def test_head_is_the_newest_migration(component: Component) -> None:
    folder = Path(migrate.__file__).parent / "migrations"
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("version_locations", str(folder / component.name))
    config.set_main_option("path_separator", "newline")
    assert ScriptDirectory.from_config(config).get_current_head() == component.head


def test_start_without_migration_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_database(None, tmp_path, FakeNetwork()).close()
    monkeypatch.setattr(migrate, "_run_alembic", None)
    open_database(None, tmp_path, FakeNetwork()).close()


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (x)", "PRAGMA application_id = 7"])
def test_sqlite_file_of_another_program_is_refused_untouched(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "chainstate" / "chain.sqlite"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="of another program"):
        open_database(None, tmp_path, FakeNetwork())
    assert path.read_bytes() == before


def test_sqlite_files_are_durable_as_promised(tmp_path: Path) -> None:
    with open_database(None, tmp_path, FakeNetwork()) as database:
        for writer, synchronous in ((database.chain._writer, 2), (database.coins._writer, 1)):
            with writer.transaction() as connection:
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == synchronous


def test_closing_leaves_plain_files(tmp_path: Path) -> None:
    open_database(None, tmp_path, FakeNetwork()).close()
    assert sorted(path.name for path in (tmp_path / "chainstate").iterdir()) == ["chain.sqlite", "coins.sqlite"]
