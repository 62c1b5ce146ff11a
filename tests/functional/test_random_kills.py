"""A node that is killed at random moments ends where an undisturbed one ends, and its log tells its chain's history.

CLARION_KILLS=30 gives each scenario thirty kills, CLARION_KILL_SEED repeats a run's choice of moments.
"""

import itertools
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pytest

from clarion.node.events.row import EventKind, EventRow
from helpers import impatient_node
from helpers.chain_builder import GENESIS_HASH
from helpers.node import Node, RpcFailure, Subscriber
from helpers.node_database import on_server
from helpers.random_kills import KINDS, Home, Moments, assert_nobody_left, make_home, read_history
from helpers.session_files import made_once
from helpers.zigzag import Told, Zigzag, make_zigzag

SMALL_CACHE = "-dbcache=4"
"""The coins are flushed several times on the way, so that later branches leave the chain below the flushed coins."""

FEED_S = 1.5
"""A kill comes at most this long after the node has begun to hear of blocks."""

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", KINDS)]


@pytest.fixture(scope="module")
def zigzag(tmp_path_factory: pytest.TempPathFactory) -> Zigzag:
    """The blocks."""
    return make_zigzag(tmp_path_factory)


@pytest.fixture(scope="module")
def good(zigzag: Zigzag) -> set[bytes]:
    """The hashes of the blocks that may be connected."""
    return {GENESIS_HASH, *(told.hash for told in zigzag.blocks)}


def import_command(zigzag: Zigzag) -> list[str]:
    return ["import", str(zigzag.path), SMALL_CACHE]


def moves(rows: Sequence[EventRow]) -> list[tuple[str, bytes]]:
    """Return the rows that move the tip, as `Zigzag.story` has them."""
    signs = {EventKind.BLOCK_CONNECTED: "+", EventKind.BLOCK_DISCONNECTED: "-"}
    return [(signs[row.kind], row.block_hash) for row in rows if row.kind in signs]


@dataclass(frozen=True)
class Undisturbed:
    """What a home's chain led to that was loaded in one go, and how many seconds that took."""

    facts: dict[str, str]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(zigzag: Zigzag, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """The outcome that all others must have, whatever their database."""

    def load(folder: Path) -> None:
        with make_home("postgresql" if on_server() else "sqlite", folder / "home") as home:
            seconds = home.run(*import_command(zigzag), "-par=2")
            (folder / "outcome.json").write_text(json.dumps([home.facts(), seconds]))

    found = made_once(tmp_path_factory, "zigzag-outcome", load) / "outcome.json"
    outcome = Undisturbed(*json.loads(found.read_text()))
    assert outcome.facts["bestblock"] == zigzag.tip.hash_hex
    return outcome


def test_import(zigzag: Zigzag, good: set[bytes], undisturbed: Undisturbed, kind: str, tmp_path: Path) -> None:
    moments = Moments(f"import, {kind}")
    killed = 0
    for number in itertools.count():
        with make_home(kind, tmp_path / str(number)) as home:
            killed += kill_imports(home, zigzag, good, moments, undisturbed.seconds, moments.kills - killed)
            assert moves(read_history(home, good)) == list(zigzag.story())
            if killed == moments.kills:
                assert home.facts() == undisturbed.facts
                return


def kill_imports(home: Home, zigzag: Zigzag, good: set[bytes], moments: Moments, seconds: float, most: int) -> int:
    """Import into an empty home to the end, killed up to `most` times, and return how often."""
    for killed in range(most + 1):
        process = home.spawn(*import_command(zigzag), moments.rng.choice(["-par=1", "-par=2"]))
        if not moments.strike(process, seconds) if killed < most else process.wait() == 0:
            return killed
        read_history(home, good)
        assert_nobody_left(process)
    raise AssertionError(home.output())


@pytest.mark.parametrize("option", ["-reindex", "-reindex-chainstate"])
def test_reindex(
    zigzag: Zigzag, good: set[bytes], undisturbed: Undisturbed, kind: str, option: str, tmp_path: Path
) -> None:
    moments = Moments(f"{option}, {kind}")
    with make_home(kind, tmp_path / "home") as home:
        home.run(*import_command(zigzag), "-par=1")
        command = ["-stopafterblockimport", SMALL_CACHE, "-server=0", "-par=1"]
        killed, begin = 0, True
        while killed < moments.kills:
            process = home.spawn(*command, *([option] if begin else []))
            begin = not moments.strike(process, undisturbed.seconds) or moments.rng.random() < 0.2
            killed += process.returncode != 0
            read_history(home, good)
            assert_nobody_left(process)
        home.run(*command)
        read_history(home, good)
        assert home.facts() == undisturbed.facts


def test_reorganisations(zigzag: Zigzag, good: set[bytes], undisturbed: Undisturbed, kind: str, tmp_path: Path) -> None:
    moments = Moments(f"reorganisations, {kind}")
    with make_home(kind, tmp_path / "home") as home, ExitStack() as stack:
        home.run("import", str(zigzag.base_path), SMALL_CACHE, "-par=1")
        node = Node(home.folder, SMALL_CACHE, *home.options, topics=["hashblock"])
        node.program = impatient_node.program()
        subscriber = Subscriber(node.zmq_address, ["hashblock"])
        stack.callback(subscriber.close)
        calls = Calls(zigzag)
        for _ in range(moments.kills):
            # With old tips allowed, initial download ends and each step is committed; else commits take many blocks.
            node.start(moments.rng.choice(["-maxtipage=86400", "-maxtipage=2000000000"]), "-par=2")
            calls.feed(node, moments.rng.uniform(0, FEED_S))
            history = read_history(home, good)
            assert node.process is not None
            assert_nobody_left(node.process)
            logged = {row.block_hash for row in history if row.kind is EventKind.BLOCK_CONNECTED}
            told = [body[::-1] for _, body, _ in subscriber.drain(0.05)]
            assert logged.issuperset(told), "told, but not in the log"
            calls.assert_kept(home)
            print(f"killed after {calls.done} calls, {len(history)} rows, and {len(told)} tips told")
        with node:
            calls.finish(node)
            assert node.rpc("getbestblockhash") == zigzag.tip.hash_hex
        read_history(home, good)
        assert home.facts() == undisturbed.facts


class Calls:
    """What the node is told, call by call: all blocks, then branches taken back and allowed again, for ever."""

    def __init__(self, zigzag: Zigzag) -> None:
        self._zigzag = zigzag
        self._acknowledged: list[Told] = []
        self.done = 0
        self._calls = self._all()
        self._next: tuple[str, Told] = next(self._calls)

    def _blocks(self) -> list[Told]:
        """Return the branches in order; a wrong one comes before the first block that builds upon the best chain then."""
        bad = self._zigzag.bad
        return [*self._zigzag.forks[:20], *bad[: len(bad) // 2], *self._zigzag.forks[20:], *bad[len(bad) // 2 :]]

    def _all(self) -> Iterator[tuple[str, Told]]:
        yield from (("submitblock", told) for told in self._blocks())
        for told in itertools.cycle([self._zigzag.forks[0], self._zigzag.base[-12], self._zigzag.forks[-9]]):
            yield "invalidateblock", told
            yield "reconsiderblock", told

    def feed(self, node: Node, seconds: float) -> None:
        """Go on where the last node stopped answering, until the node is killed, `seconds` from now."""
        assert node.process is not None
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            node.kill()

        timer = threading.Timer(seconds, kill)
        timer.start()
        try:
            while True:
                self._call(node)
        except (OSError, HTTPException, RpcFailure):
            assert killed.is_set(), node.read_output()
        timer.join()

    def _call(self, node: Node) -> None:
        method, told = self._next
        node.rpc(method, told.raw.hex() if method == "submitblock" else told.hash_hex)
        if method == "submitblock":
            self._acknowledged.append(told)
        self._next = next(self._calls)
        self.done += 1

    def assert_kept(self, home: Home) -> None:
        """Raise AssertionError if a block is not stored that the node has answered for."""
        with home.reader() as reader, reader.snapshot() as view:
            stored = {row.hash for row in view.blocks()}
        assert {told.hash for told in self._acknowledged if told not in self._zigzag.bad} <= stored

    def finish(self, node: Node) -> None:
        """Tell the node the rest, and allow what was taken back."""
        while self._next[0] == "submitblock":
            self._call(node)
        if self._next[0] == "reconsiderblock":
            self._call(node)
