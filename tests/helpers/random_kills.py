"""Kills at random moments, and what must hold of the storage of a node that was killed.

Owns: the moments (reproducible by their seed), a home for a node on either kind of database, reading it while no node
runs, and who is left of a killed node. Never: what a node does meanwhile.
"""

import os
import random
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError
from clarion.node.events.row import EventKind, EventRow
from clarion.node.params.chain_params import select_params
from clarion.node.storage import block_status
from clarion.node.storage.chain_reader import ChainReader
from helpers import impatient_node
from helpers.databases import postgres_schema
from helpers.node import Node, process_ids_of_session
from helpers.node_database import on_server

SEED_VARIABLE = "CLARION_KILL_SEED"
COUNT_VARIABLE = "CLARION_KILLS"
DEFAULT_KILLS = 2
KINDS = ("sqlite", "postgresql")
END_TIMEOUT_S = 20
RUN_TIMEOUT_S = 120

_RECOVERY = re.compile(r"Recovering coins from height (\d+) over (\d+) to the tip")


class Moments:
    """When to kill. CLARION_KILL_SEED repeats a run's choices, CLARION_KILLS says how many kills a scenario has."""

    def __init__(self, scenario: str) -> None:
        self.kills = int(os.environ.get(COUNT_VARIABLE, DEFAULT_KILLS))
        seed = os.environ.get(SEED_VARIABLE) or secrets.token_hex(4)
        self.rng = random.Random(f"{seed} {scenario}")
        print(f"{scenario}: {self.kills} kills, {SEED_VARIABLE}={seed}")

    def strike(self, process: subprocess.Popen[bytes], within_s: float) -> bool:
        """Kill the process after at most `within_s` seconds; False if it ended before, which it must have done well."""
        moment = self.rng.uniform(0, within_s)
        try:
            status = process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            print(f"killed after {moment:.3f} s")
            return True
        assert status == 0, f"the process ended with status {status} within {moment:.3f} s"
        return False


@dataclass(frozen=True)
class Home:
    """A data directory and its database; `url` is None for SQLite."""

    folder: Path
    url: str | None

    @property
    def options(self) -> list[str]:
        """What tells a node where its chain is, apart from the data directory."""
        return [] if self.url is None else [f"-database={self.url}"]

    def spawn(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `clarion`, an impatient one, with these arguments here, in a session of its own."""
        command = [*impatient_node.program(), *arguments, "-regtest", f"-datadir={self.folder}", *self.options]
        with (self.folder / "output.txt").open("ab") as sink:
            return subprocess.Popen(command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self, *arguments: str) -> float:
        """Run `clarion` to its good end and return the seconds that it took."""
        started = time.monotonic()
        process = self.spawn(*arguments)
        assert process.wait(RUN_TIMEOUT_S) == 0, self.output()
        return time.monotonic() - started

    def output(self) -> str:
        """Return what the processes have printed."""
        return (self.folder / "output.txt").read_text(errors="replace")

    def describe_recoveries(self) -> str:
        """Return how often coins lay behind the tip at a start, and how often on a branch that had been left."""
        log = self.folder / "regtest" / "debug.log"
        found = _RECOVERY.findall(log.read_text(errors="replace")) if log.exists() else []
        return f"{len(found)} recoveries of coins, {sum(at != fork for at, fork in found)} of them from a left branch"

    def reader(self) -> ChainReader:
        """Return a reader of the database. Raises ConfigError while there is none."""
        return ChainReader(self.url, self.folder / "regtest", select_params("regtest"))

    def facts(self) -> dict[str, str]:
        """Start a node, let it check every block and its undo data, and return what the chain led to."""
        with Node(self.folder, "-par=1", *self.options) as node:
            assert node.rpc("verifychain", 3, 0) is True
            coins = node.rpc("gettxoutsetinfo", "hash_serialized_3")
        names = ("height", "bestblock", "txouts", "total_amount", "hash_serialized_3")
        return {name: str(coins[name]) for name in names}


@contextmanager
def make_home(kind: str, folder: Path) -> Iterator[Home]:
    """An empty home, gone afterwards. Skips where no server answers, or where all nodes under test use one anyway."""
    if kind == "sqlite" and on_server():
        pytest.skip("nodes under test use a server")
    folder.mkdir()
    try:
        with nullcontext() if kind == "sqlite" else postgres_schema() as url:
            home = Home(folder, url)
            yield home
            print(home.describe_recoveries())
    finally:
        shutil.rmtree(folder)


def read_history(home: Home, good: set[bytes]) -> list[EventRow]:
    """Return the rows of the event log of a home without a node, once it is proven that they tell the stored chain.

    `good` are the hashes of the blocks that may be connected. Without a chain, as after an early kill, there are none.
    """
    try:
        reader = home.reader()
    except ConfigError as error:
        print(f"nothing is there yet: {error}")
        return []
    with reader, reader.snapshot() as view:
        rows = reader.events.read(0, 1_000_000)
        active = view.rows_from(0, 1_000_000)
        stored = list(view.blocks())
        assert [row.seq for row in rows] == list(range(1, len(rows) + 1)), "the log has a gap"
        assert replay(rows, good) == [row.hash for row in active], "the log tells another chain"
        for row in stored:
            if row.status & block_status.HAVE_DATA:
                reader.read_block(row)
            if row.status & block_status.HAVE_UNDO:
                reader.read_undo(row)
        assert all(row.status & block_status.HAVE_UNDO for row in active[1:]), "undo data is missing"
    return rows


def replay(rows: Sequence[EventRow], good: set[bytes]) -> list[bytes]:
    """Return the hashes of the chain that the rows lead to, from genesis."""
    chain: list[bytes] = []
    for row in rows:
        if row.kind is EventKind.BLOCK_CONNECTED:
            assert row.block_hash in good, f"row {row.seq} connects a block that was never connected"
            assert row.height == len(chain), f"row {row.seq} has height {row.height}, not {len(chain)}"
            chain.append(row.block_hash)
        elif row.kind is EventKind.BLOCK_DISCONNECTED:
            assert chain.pop() == row.block_hash, f"row {row.seq} leaves a block that is not the tip"
        elif row.kind is EventKind.TIP_CHANGED:
            assert chain[-1] == row.block_hash, f"row {row.seq} names another tip than the blocks before it"
    return chain


def assert_nobody_left(process: subprocess.Popen[bytes]) -> None:
    """Raise AssertionError unless all processes of a killed node's session end soon."""
    deadline = time.monotonic() + END_TIMEOUT_S
    while left := process_ids_of_session(process.pid):
        assert time.monotonic() < deadline, f"processes outlive the node that was killed: {left}"
        time.sleep(0.02)
