"""An answer is of one chain: whichever of its statements a reorganisation follows, it shows the old chain or the new.

Each answer is asked for again and again, with a reorganisation behind its first statement, behind its second, and so on.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.chain_reader import ChainSnapshot
from clarion.node.storage.coin_store import CoinSnapshot
from clarion.node.storage.location import Location
from clarion.node.storage.row_snapshot import row_snapshot
from clarion.plugins.bundled.txindex import TxIndex
from helpers.api_stack import ApiStack
from helpers.databases import postgres_schema

HEIGHT = 6
DEPTH = 2
"""A reorganisation takes this many blocks away and brings one more."""

KINDS = ("sqlite", "postgresql")


class Reorganisations:
    """A chain that can be made to turn behind any statement of an answer."""

    def __init__(self, stack: ApiStack) -> None:
        self.stack = stack
        self._made = 0
        self._statements = 0
        self._behind = 0

    def script(self) -> str:
        """Return the output script of the blocks that are on top now."""
        return f"02{self._made:04x}51"

    def turn(self) -> None:
        """Leave the top of the chain for a longer one."""
        run = self.stack.methods.run
        left = self.stack.node.manager.tip
        for _ in range(DEPTH - 1):
            assert left.prev is not None
            left = left.prev
        run("invalidateblock", [hash_to_hex(left.hash)])
        self._made += 1
        run("generatetodescriptor", [DEPTH + 1, f"raw({self.script()})", 10**6])

    def counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that is one statement."""

        def call(*args: Any) -> Any:
            result = method(*args)
            self.count()
            return result

        return call

    def count(self) -> None:
        """A statement has been made."""
        self._statements += 1
        if self._statements == self._behind:
            self.turn()

    def interrupted(self, answer: Callable[[], Any], behind: int) -> tuple[Any, bool]:
        """Return an answer with a reorganisation behind statement number `behind`, and whether it had that many."""
        self._statements, self._behind = 0, behind
        try:
            return answer(), self._statements >= behind
        finally:
            self._behind = 0


@pytest.fixture(params=KINDS)
def turning(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Reorganisations]:
    """Return a chain with its API on each kind of database."""
    with ExitStack() as cleanup:
        url = cleanup.enter_context(postgres_schema()) if request.param == "postgresql" else None
        stack = ApiStack(tmp_path, indexes=[TxIndex()], database=url).ready()
        cleanup.callback(stack.close)
        stack.result("generatetodescriptor", HEIGHT, "raw(51)")
        turning = Reorganisations(stack)
        turning.turn()
        start = ChainSnapshot.__init__

        def watched(self: ChainSnapshot, *args: Any) -> None:
            start(self, *args)
            self._rows = turning.counted(self._rows)

        monkeypatch.setattr(ChainSnapshot, "__init__", watched)
        for name in ("tip", "any_of"):
            monkeypatch.setattr(CoinSnapshot, name, turning.counted(getattr(CoinSnapshot, name)))
        yield turning


def block_at(turning: Reorganisations, height: int) -> str:
    return str(turning.stack.result("getblockhash", height))


def questions(turning: Reorganisations) -> dict[str, Callable[[], Any]]:
    """Return what to ask: about the block below the fork, the old tip, the top of the chain, and the coins on top."""
    stack, tip = turning.stack, turning.stack.result("getblockcount")
    below, old = block_at(turning, tip - DEPTH), block_at(turning, tip)
    txid = stack.result("getblock", old)["tx"][0]

    def ask(method: str, *params: Any) -> Callable[[], Any]:
        return lambda: stack.call(method, *params)

    def get(path: str) -> Callable[[], Any]:
        return lambda: stack.get(path).content

    return {
        "getbestblockhash": ask("getbestblockhash"),
        "getblockheader": ask("getblockheader", below),
        "getblockheader, stale then": ask("getblockheader", old),
        "getblock": ask("getblock", below, 1),
        "getblock with prevouts": ask("getblock", old, 3),
        "getblockstats": ask("getblockstats", tip - 1),
        "getchaintxstats": ask("getchaintxstats"),
        "getrawtransaction": ask("getrawtransaction", txid, 2, old),
        "gettxoutproof": ask("gettxoutproof", [txid]),
        "gettxoutsetinfo": ask("gettxoutsetinfo", "none"),
        "scantxoutset": ask("scantxoutset", "start", [f"raw({turning.script()})"]),
        "REST headers": get(f"/rest/headers/{below}.json?count=10"),
        "REST headers, bytes": get(f"/rest/headers/{below}.bin?count=10"),
        "REST block": get(f"/rest/block/{below}.json"),
        "REST block hash": get(f"/rest/blockhashbyheight/{tip}.json"),
    }


NAMES = (
    "getbestblockhash",
    "getblockheader",
    "getblockheader, stale then",
    "getblock",
    "getblock with prevouts",
    "getblockstats",
    "getchaintxstats",
    "getrawtransaction",
    "gettxoutproof",
    "gettxoutsetinfo",
    "scantxoutset",
    "REST headers",
    "REST headers, bytes",
    "REST block",
    "REST block hash",
)


def mixtures(turning: Reorganisations, name: str) -> tuple[int, list[Any]]:
    """Return how many statements the answer has, and the answers that were neither the old nor the new one."""
    found = []
    statement = 0
    while True:
        statement += 1
        answer = questions(turning)[name]
        before = answer()
        interrupted, was_reached = turning.interrupted(answer, statement)
        if not was_reached:
            return statement - 1, found
        if interrupted not in (before, answer()):
            found.append(interrupted)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_mixes_two_chains(turning: Reorganisations, name: str) -> None:
    statements, mixed = mixtures(turning, name)
    assert statements >= 1
    assert not mixed


def test_without_transactions_they_would_mix(turning: Reorganisations, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: statements that each see the chain of their own moment make a mixed answer."""
    take_apart(monkeypatch)
    statements, mixed = mixtures(turning, "REST headers")
    assert statements > 1
    assert mixed


def take_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every statement of a snapshot be a transaction of its own."""

    @contextmanager
    def no_snapshot(engine: Engine, location: Location, what: str) -> Iterator[Any]:
        class EachAlone:
            def rows(self, *args: Any) -> Any:
                with row_snapshot(engine, location, what) as transaction:
                    return transaction.rows(*args)

        yield EachAlone()

    monkeypatch.setattr("clarion.node.storage.chain_reader.row_snapshot", no_snapshot)
