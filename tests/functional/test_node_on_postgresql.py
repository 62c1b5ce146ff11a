"""A node whose chainstate is in PostgreSQL: mines, is killed, starts again, and refuses a second writer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.databases import postgres_schema
from helpers.node import Node, run_program


@pytest.fixture
def database() -> Iterator[str]:
    """Return a URL; the test skips where no server answers."""
    with postgres_schema() as url:
        yield f"-database={url}"


def test_chain_survives_a_kill(tmp_path: Path, database: str) -> None:
    node = Node(tmp_path, "-par=1", database)
    node.start()
    tip = node.rpc("generatetodescriptor", 20, "raw(51)")[-1]
    coins = node.rpc("gettxoutsetinfo")
    node.kill()
    with node:
        assert node.rpc("getbestblockhash") == tip
        assert node.rpc("gettxoutsetinfo")["hash_serialized_3"] == coins["hash_serialized_3"]
        assert coins["txouts"] == 20


def test_second_writer_is_refused(tmp_path: Path, database: str) -> None:
    with Node(tmp_path / "one", "-par=1", database):
        (tmp_path / "two").mkdir()
        done = run_program(f"-datadir={tmp_path / 'two'}", "-regtest", "-server=0", "-par=1", database)
    assert done.returncode == 1
    assert "already running" in done.stderr
    assert len(done.stderr.splitlines()) == 1
