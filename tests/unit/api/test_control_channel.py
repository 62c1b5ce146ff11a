"""The control channel over a real unix socket: results, errors, warm-up, threads and long paths."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from clarion.api.node_link import ControlLink
from clarion.api.rpc.node_methods import NodeMethods
from clarion.node.control import MAX_SOCKET_PATH_BYTES, ControlServer, control_path
from clarion.node.errors import RpcError


class FakeMethods(NodeMethods):
    """Answers with its parameters; `wait` returns when `go` is called."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def run(self, name: str, params: Any) -> bytes:
        if name == "wait":
            assert self.gate.wait(10)
        elif name == "go":
            self.gate.set()
        elif name == "fail":
            raise RpcError(-5, "no")
        elif name == "break":
            raise ZeroDivisionError("oops")
        elif name == "_status":
            return super().run(name, params)
        return orjson.dumps([name, list(params)])


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Return the path of a running server's socket."""
    path = control_path(tmp_path)
    server = ControlServer(path, FakeMethods(), threads=2)
    server.start()
    yield path
    server.stop()
    assert not path.exists()


async def ask(path: Path, *calls: tuple[str, list[Any]]) -> list[Any]:
    link = ControlLink(path)
    link.connect()
    try:
        return await asyncio.gather(*(link.call(*call) for call in calls), return_exceptions=True)
    finally:
        await link.close()


def test_result(path: Path) -> None:
    assert asyncio.run(ask(path, ("m", [1, "x", None]))) == [b'["m",[1,"x",null]]']


def test_errors(path: Path) -> None:
    refused, broken = asyncio.run(ask(path, ("fail", []), ("break", [])))
    assert (refused.code, refused.message) == (-5, "no")
    assert (broken.code, broken.message) == (-1, "ZeroDivisionError: oops")


def test_a_waiting_call_does_not_delay_others(path: Path) -> None:
    assert asyncio.run(ask(path, ("wait", []), ("go", []))) == [b'["wait",[]]', b'["go",[]]']


def test_blocking_call_from_a_thread(path: Path) -> None:
    async def main() -> Any:
        link = ControlLink(path)
        link.connect()
        result = await asyncio.to_thread(link.call_blocking, "m", [2])
        await link.close()
        return result

    assert asyncio.run(main()) == ["m", [2]]


def test_status_tells_of_the_start(path: Path) -> None:
    assert asyncio.run(ask(path, ("_status", []))) == [b'{"ready":false,"message":"RPC server started"}']


def test_closing_the_link_answers_what_waits(path: Path) -> None:
    async def main() -> Any:
        link = ControlLink(path)
        link.connect()
        waiting = asyncio.create_task(link.call("wait", []))
        await asyncio.sleep(0.1)
        await link.close()
        with pytest.raises(RpcError, match="Shutting down"):
            await waiting
        return await ask(path, ("go", []))

    assert asyncio.run(main()) == [b'["go",[]]']


def test_long_path_moves_to_a_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * MAX_SOCKET_PATH_BYTES)
    path = control_path(deep)
    assert not path.is_relative_to(tmp_path)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    server = ControlServer(path, FakeMethods())
    server.start()
    assert asyncio.run(ask(path, ("m", []))) == [b'["m",[]]']
    server.stop()
    assert not path.parent.exists()


def test_calls_end_when_the_node_is_gone(tmp_path: Path) -> None:
    async def ask_in_vain() -> list[Any]:
        link = ControlLink(tmp_path / "nobody")
        link.connect()
        early = asyncio.create_task(link.call("m", []))
        await asyncio.sleep(0.01)
        assert not early.done()
        await asyncio.to_thread(link.give_up)
        try:
            return await asyncio.wait_for(asyncio.gather(early, link.call("m", []), return_exceptions=True), 5)
        finally:
            await link.close()

    assert [(error.code, error.message) for error in asyncio.run(ask_in_vain())] == [(-9, "The node is gone")] * 2
