"""How an answer leaves: its head together with its body, in one write to a real socket."""

import asyncio
import resource
import socket
from functools import partial
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from clarion.api.asgi import Receive, Scope, Send, send_answer
from clarion.api.http_protocol import JOINED_BYTES, HttpProtocol, max_connections


class CountingSocket(socket.socket):
    """Notes what each write hands to the system."""

    def __init__(self, other: socket.socket) -> None:
        super().__init__(fileno=other.detach())
        self.writes: list[bytes] = []

    def send(self, data: Any, *flags: int) -> int:
        sent = super().send(data, *flags)
        self.writes.append(bytes(data)[:sent])
        return sent


async def answered(app: Any, request: bytes) -> list[bytes]:
    """Return the writes of a server that gets a request and closes the connection behind its answer."""
    client, served = socket.socketpair()
    counted = CountingSocket(served)
    config = uvicorn.Config(app, lifespan="off", interface="asgi3", log_config=None, access_log=False)
    protocol = partial(HttpProtocol, config=config, server_state=ServerState(), app_state={})
    with client:
        client.sendall(request)
        await asyncio.get_running_loop().connect_accepted_socket(protocol, counted)
        reader, writer = await asyncio.open_connection(sock=client.dup())
        whole = await asyncio.wait_for(reader.read(), 30)
        writer.close()
    assert whole == b"".join(counted.writes)
    return counted.writes


def request(verb: str = "GET", more: str = "") -> bytes:
    return f"{verb} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}\r\n".encode()


@pytest.mark.parametrize("body", [b"x", b"y" * JOINED_BYTES], ids=["small", "longest"])
def test_head_and_body_leave_in_one_write(body: bytes) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, 200, body)

    (written,) = asyncio.run(answered(app, request()))
    assert written.startswith(b"HTTP/1.1 200 OK\r\n")
    assert written.endswith(b"\r\n\r\n" + body)


def test_a_long_body_begins_behind_the_head() -> None:
    body = bytes(range(256)) * 4096

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, 200, body)

    written = asyncio.run(answered(app, request()))
    assert len(written[0]) > JOINED_BYTES
    assert b"".join(written).partition(b"\r\n\r\n")[2] == body


@pytest.mark.parametrize(("verb", "status"), [("HEAD", 200), ("GET", 204)])
def test_an_answer_without_a_body(verb: str, status: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, status)

    (written,) = asyncio.run(answered(app, request(verb)))
    assert written.startswith(f"HTTP/1.1 {status} ".encode())
    assert written.endswith(b"\r\n\r\n")


def test_a_stream_leaves_piece_by_piece() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    first, second = asyncio.run(answered(app, request()))
    assert first.endswith(b"\r\n\r\n3\r\none\r\n")
    assert second == b"3\r\ntwo\r\n0\r\n\r\n"


def test_a_client_that_asks_first_is_told_to_continue() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send_answer(send, 200, b"x")

    first, second = asyncio.run(answered(app, request("POST", "Expect: 100-continue\r\nContent-Length: 0\r\n")))
    assert first == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert second.endswith(b"\r\n\r\nx")


def test_a_head_whose_body_fails_still_leaves() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        raise RuntimeError("no body")

    (written,) = asyncio.run(answered(app, request()))
    assert written.endswith(b"content-length: 9\r\nconnection: close\r\n\r\n")


def test_chunks_count_where_a_length_is_given_too() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        await send_answer(send, 200, message["body"])

    head = request("POST", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")
    (written,) = asyncio.run(answered(app, head + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"))
    assert written.endswith(b"\r\n\r\nabc")


@pytest.mark.parametrize(
    "head",
    [
        "GET / ",
        "GET / HTTP/2.0",
        "GET / HTTP/0.9",
        "GET / HTTP/9.9",
        "GET /\0 HTTP/1.1",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        "GET / HTTP/1.1\r\nName : x",
        "GET / HTTP/1.1\r\nName: x\r\n folded",
    ],
)
def test_what_is_no_request_of_ours(head: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, 200, b"understood")

    (written,) = asyncio.run(answered(app, head.encode() + b"\r\n\r\n"))
    assert written.startswith(b"HTTP/1.1 400 ")
    assert written.endswith(b"content-length: 0\r\n\r\n")


async def status_lines(count: int) -> list[bytes]:
    """Return what each of so many clients is told that connect one after the other and stay."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send_answer(send, 200)

    config = uvicorn.Config(app, lifespan="off", interface="asgi3", log_config=None, access_log=False)
    protocol = partial(HttpProtocol, config=config, server_state=ServerState(), app_state={})
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    told, writers = [], []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writers.append(writer)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        told.append((await asyncio.wait_for(reader.readline(), 30)).strip())
    for writer in writers:
        writer.close()
    server.close()
    return told


def test_one_client_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarion.api.http_protocol.MAX_CONNECTIONS", 2)
    told = asyncio.run(status_lines(3))
    assert told == [b"HTTP/1.1 200 OK"] * 2 + [b"HTTP/1.1 503 Service Unavailable"]


@pytest.mark.parametrize(
    ("allowed", "expected"), [(1024, 768), (200, 1), (1 << 20, 10_000), (resource.RLIM_INFINITY, 10_000)]
)
def test_clients_leave_descriptors_for_files(monkeypatch: pytest.MonkeyPatch, allowed: int, expected: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (allowed, allowed))
    assert max_connections() == expected
