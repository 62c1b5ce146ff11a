"""Calls that may wait for ever are given up when the client leaves, and only then."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from clarion.api.asgi import Message, wait_for_leave
from clarion.api.executor import Executor
from clarion.api.rpc import registry
from clarion.node.errors import RpcError
from helpers.api_stack import ApiStack


class SlowLink:
    """A node that answers `uptime` when the test says so."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.given_up = False

    async def call(self, method: str, params: Sequence[Any]) -> bytes:
        if method == "_status":
            return b'{"ready":true}'
        try:
            await self.answered.wait()
        except asyncio.CancelledError:
            self.given_up = True
            raise
        return b"7"


@pytest.fixture
def waiting_uptime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `uptime` be a method that waits."""
    method = registry.find("uptime")
    assert method is not None
    monkeypatch.setitem(registry._TABLE, "uptime", replace(method, waits=True))


async def execute(stack: ApiStack, link: SlowLink, left: asyncio.Event) -> Any:
    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    executor = Executor(replace(stack.reader, node=link))
    try:
        return await executor.execute("uptime", [], lambda: wait_for_leave(receive))
    finally:
        await asyncio.sleep(0)


@pytest.mark.usefixtures("waiting_uptime")
def test_client_leaves(stack: ApiStack) -> None:
    async def main() -> SlowLink:
        link, left = SlowLink(), asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, left.set)
        with pytest.raises(RpcError, match="The client has left"):
            await execute(stack, link, left)
        return link

    assert asyncio.run(main()).given_up


@pytest.mark.usefixtures("waiting_uptime")
def test_client_stays(stack: ApiStack) -> None:
    async def main() -> Any:
        link = SlowLink()
        asyncio.get_running_loop().call_later(0.01, link.answered.set)
        return await execute(stack, link, asyncio.Event())

    assert orjson.dumps(asyncio.run(main())) == b"7"


def test_other_calls_are_finished_whoever_leaves(stack: ApiStack) -> None:
    async def main() -> Any:
        link, left = SlowLink(), asyncio.Event()
        left.set()
        asyncio.get_running_loop().call_later(0.01, link.answered.set)
        return await execute(stack, link, left)

    assert orjson.dumps(asyncio.run(main())) == b"7"
