"""What `-database=` means, and the one line for what it can't mean."""

import importlib.util
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.storage.database import open_database
from clarion.node.storage.location import Backend, locate
from helpers.databases import FakeNetwork


def test_default_is_the_chainstate_folder(tmp_path: Path) -> None:
    location = locate(None, tmp_path)
    assert location.backend is Backend.SQLITE_FILE
    assert location.describe("chain") == str(tmp_path / "chainstate" / "chain.sqlite")


def test_sqlite_url_names_a_folder(tmp_path: Path) -> None:
    assert locate(f"sqlite:///{tmp_path}/other", tmp_path).folder == tmp_path / "other"


def test_folder_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"-database: the folder {tmp_path}/typo does not exist, in which x would be"):
        open_database(f"sqlite:///{tmp_path}/typo/x", tmp_path / "data", FakeNetwork())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_memory_is_shared_by_data_directory(tmp_path: Path, url: str) -> None:
    location = locate(url, tmp_path)
    assert location.backend is Backend.SQLITE_MEMORY
    assert location == locate(url, tmp_path)
    assert location.memory_name != locate(url, tmp_path / "other").memory_name


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgresql", "postgres"])
def test_postgresql_spellings(tmp_path: Path, scheme: str) -> None:
    location = locate(f"{scheme}://me:secret@host/db", tmp_path)
    assert location.backend is Backend.POSTGRESQL
    assert location.describe("chain") == "postgresql+psycopg://me:***@host/db"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("not a url", "not a database URL: not a url", id="no-url"),
        pytest.param("mysql://me:secret@host/db", "unknown dialect 'mysql'", id="dialect"),
        pytest.param("sqlite+aiosqlite:///x", "driver 'aiosqlite' is not supported", id="sqlite-driver"),
        pytest.param("postgresql+asyncpg://host/db", "driver 'asyncpg' is not supported", id="postgres-driver"),
        pytest.param("postgresql://me:secret@host:port/db", "not a database URL", id="port"),
    ],
)
def test_bad_urls_get_one_line_without_a_password(tmp_path: Path, url: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        locate(url, tmp_path)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_missing_driver_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'clarion\[postgres\]'"):
        locate("postgresql://host/db", tmp_path)


def test_unreachable_server_gets_one_line(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://me:secret@127.0.0.1:9/db"
    with pytest.raises(ConfigError, match="Cannot open the database postgresql") as caught:
        open_database(url, tmp_path, FakeNetwork())
    assert "refused" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "chainstate").write_bytes(b"")
    with pytest.raises(ConfigError, match="is a file"):
        open_database(None, tmp_path, FakeNetwork())


def test_chainstate_of_the_reference_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chainstate").mkdir()
    (tmp_path / "chainstate" / "CURRENT").write_text("MANIFEST-000001\n")
    with pytest.raises(ConfigError, match="LevelDB database of another program"):
        open_database(None, tmp_path, FakeNetwork())


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chainstate").mkdir()
    (tmp_path / "chainstate" / "chain.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(ConfigError, match=r"chain\.sqlite: file is not a database"):
        open_database(None, tmp_path, FakeNetwork())
