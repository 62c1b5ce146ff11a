"""The control channel over a real unix socket: results, errors, warm-up, threads and long paths."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import orjson
import pytest

from clarion.api.node_link import ControlLink, DirectLink
from clarion.api.rpc.node_methods import NodeMethods
from clarion.api.rpc.waiting import Waiting
from clarion.node.control import MAX_SOCKET_PATH_BYTES, ControlServer, control_path
from clarion.node.errors import RpcError


class FakeMethods(NodeMethods):
    """Answers with its parameters; `wait` returns when `go` is called, `later` holds no thread until then."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.later: list[Future[None]] = []
        self.asked = threading.Event()
        self.given_up = threading.Event()

    def start(self, name: str, params: Any) -> bytes | Waiting:
        if name == "wait":
            assert self.gate.wait(10)
        elif name == "go":
            self.gate.set()
            for future in self.later:
                future.set_result(None)
        elif name == "later":
            return self._wait(*params)
        elif name == "fail":
            raise RpcError(-5, "no")
        elif name == "break":
            raise ZeroDivisionError("oops")
        elif name == "_status":
            return super().start(name, params)
        return orjson.dumps([name, list(params)])

    def _wait(self, times: int) -> Waiting:
        """Wait for `go`, then `times` more moments."""
        future: Future[None] = Future()
        future.add_done_callback(lambda _: self.given_up.set() if future.cancelled() else None)
        if self.gate.is_set():
            future.set_result(None)
        else:
            self.later.append(future)
        self.asked.set()
        return Waiting(future, lambda: self._wait(times - 1) if times else ["later", times])


@pytest.fixture
def methods() -> FakeMethods:
    """Return what the server calls."""
    return FakeMethods()


@pytest.fixture
def path(tmp_path: Path, methods: FakeMethods) -> Iterator[Path]:
    """Return the path of a running server's socket."""
    path = control_path(tmp_path)
    server = ControlServer(path, methods, threads=2)
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


def test_numbers_that_are_too_large_for_the_channel_stay_too_large(path: Path) -> None:
    params = [1 << 64, {"a": [-(1 << 64), (1 << 64) - 1]}, -(10**400)]
    (answer,) = asyncio.run(ask(path, ("m", params)))
    assert orjson.loads(answer) == ["m", [2.0**64, {"a": [-(2.0**64), (1 << 64) - 1]}, None]]


def test_a_waiting_call_does_not_delay_others(path: Path) -> None:
    assert asyncio.run(ask(path, ("wait", []), ("go", []))) == [b'["wait",[]]', b'["go",[]]']


def test_calls_that_wait_keep_no_thread_busy(path: Path) -> None:
    many: list[tuple[str, list[Any]]] = [("later", [2])] * 20
    assert asyncio.run(ask(path, *many, ("go", []))) == [b'["later",0]'] * 20 + [b'["go",[]]']


def test_waiting_ends_when_the_caller_gives_up(path: Path, methods: FakeMethods) -> None:
    async def main() -> None:
        link = ControlLink(path)
        link.connect()
        call = asyncio.create_task(link.call("later", [0]))
        assert await asyncio.to_thread(methods.asked.wait, 10)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await asyncio.to_thread(methods.given_up.wait, 10)
        await link.close()

    asyncio.run(main())


def test_a_call_that_waits_runs_to_its_end_on_one_thread_too(methods: FakeMethods) -> None:
    methods.gate.set()
    assert methods.run("later", [3]) == b'["later",0]'


@pytest.mark.parametrize("gives_up", [False, True])
def test_the_direct_link_waits_without_a_thread(methods: FakeMethods, gives_up: bool) -> None:
    async def main() -> list[Any]:
        link = DirectLink(methods, threads=1)
        call = asyncio.create_task(link.call("later", [1]))
        assert await asyncio.to_thread(methods.asked.wait, 10)
        if gives_up:
            call.cancel()
        else:
            await link.call("go", [])
        answers = await asyncio.gather(call, return_exceptions=True)
        await link.close()
        return answers

    answer = asyncio.run(main())[0]
    assert methods.given_up.is_set() == gives_up == isinstance(answer, asyncio.CancelledError)
    assert gives_up or answer == b'["later",0]'


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
