"""Subscribers of one process: handing over from the log to news, and what becomes of slow ones."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clarion.api.streams import subscription as subscription_module
from clarion.api.streams.hub import StreamHub, take_on_reorg
from clarion.api.streams.subscription import Message, Subscription
from clarion.node.errors import StorageError, StreamError
from clarion.node.events.cursor import Cursor
from clarion.node.storage.chain_reader import ChainReader
from clarion.notifiers.stream.filters import EventFilter
from clarion.notifiers.stream.log_reader import LogReader
from clarion.notifiers.stream.request import StreamRequest
from helpers.event_chain import EventChain

START = StreamRequest("start", EventFilter())


class FakeExecutor:
    """Just enough of an executor: the log of an EventChain, and news when the test says so."""

    def __init__(self, chain: EventChain) -> None:
        self.chain = chain
        self.context = self.settings = self.node = self
        self.params = chain.node.params
        self.reader = ChainReader(None, chain.folder, chain.node.params)
        self.questions = 0

    async def check_ready(self) -> None:
        """Be ready."""

    async def run_in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run it here."""
        await asyncio.sleep(0)
        return function(*args)

    async def call(self, method: str, params: list[int]) -> bytes:
        """Answer `_wait_events` once there is news."""
        self.questions += 1
        while self.chain.node.database.chain.last_seq <= params[0]:
            await asyncio.sleep(0.001)
        return b'{"seq": 0, "stopping": false}'


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[FakeExecutor]:
    chain = EventChain(tmp_path).play([("blocks", 2), ("add", 2), ("reorganise", 1)])
    chain.reader()
    executor = FakeExecutor(chain)
    yield executor
    executor.reader.close()
    chain.close()


def _run(executor: FakeExecutor, play: Callable[[StreamHub], Awaitable[None]]) -> None:
    async def main() -> None:
        hub = StreamHub(executor)  # type: ignore[arg-type]
        await play(hub)
        await hub.close()

    asyncio.run(main())


async def _take(subscription: Subscription, count: int) -> list[Message]:
    found: list[Message] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            found += await subscription.next(5)
    return found


def test_log_and_news_join_without_gap_or_repeat(executor: FakeExecutor) -> None:
    async def play(hub: StreamHub) -> None:
        early = await hub.subscribe(START)
        before = await _take(early, 13)
        executor.chain.play([("blocks", 1), ("add", 3)])
        after = await _take(early, 6)
        late = await hub.subscribe(START)
        everything = await _take(late, 18)
        told = [each.cursor for each in before + after if each.kind != "live"]
        assert told == [each.cursor for each in everything if each.kind != "live"]

    _run(executor, play)


def test_slow_client_is_told_and_loses_nothing(executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription_module, "QUEUE_LIMIT", 3)

    async def play(hub: StreamHub) -> None:
        slow = await hub.subscribe(StreamRequest("now", EventFilter()))
        assert [each.kind for each in await slow.next(1)] == ["live"]
        executor.chain.play([("add", 8)])
        while slow.is_live:
            await asyncio.sleep(0.001)
        got = await _take(slow, 9)
        assert [each.kind for each in got] == ["tx_added"] * 3 + ["lagged"] + ["tx_added"] * 5

    _run(executor, play)


def test_subscribers_are_not_left_waiting_when_news_can_not_be_read(
    executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reader: LogReader) -> Cursor:
        raise StorageError("the database is away")

    async def play(hub: StreamHub) -> None:
        monkeypatch.setattr(LogReader, "now", fail)
        lost = await hub.subscribe(START)
        while await lost.next(20):
            pass
        assert lost.ended
        monkeypatch.undo()
        assert len(await _take(await hub.subscribe(START), 13)) >= 13

    _run(executor, play)


def test_on_reorg_is_409_or_left_out() -> None:
    fields = {"on_reorg": 409, "from": "now"}
    assert take_on_reorg(fields)
    assert not take_on_reorg(fields)
    assert fields == {"from": "now"}
    with pytest.raises(StreamError, match="on_reorg: 409 expected"):
        take_on_reorg({"on_reorg": "4O9"})


def test_idle_subscribers_ask_the_node_nothing(executor: FakeExecutor) -> None:
    async def play(hub: StreamHub) -> None:
        everybody = [await hub.subscribe(StreamRequest("now", EventFilter(txids=frozenset({b"x"})))) for _ in range(50)]
        for each in everybody:
            assert [message.kind for message in await each.next(1)] == ["live"]
        await asyncio.sleep(0.05)
        assert executor.questions == 1

    _run(executor, play)
