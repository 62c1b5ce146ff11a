"""The command line's HTTP: replies in pieces, without a length, cut, and from something that is not HTTP."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from clarion.node.rpc_connection import post

Answering = Callable[[list[bytes]], int]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Return what starts a server that reads one request, sends the given pieces and closes; it returns the port."""
    threads: list[threading.Thread] = []

    def start(pieces: list[bytes]) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            with listener, listener.accept()[0] as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                received = b""
                while b"\r\n\r\nbody" not in received:
                    received += connection.recv(4096)
                for piece in pieces:
                    connection.sendall(piece)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("pieces", "reply"),
    [
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"], (200, b"ab")),
        ([b"HTTP/1.1 500 Int", b"ernal\r\n", b"Content-Length: 4\r\n\r", b"\na", b"bcd"], (500, b"abcd")),
        ([b"HTTP/1.0 401 Unauthorized\r\n\r\n", b"no ", b"length"], (401, b"no length")),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], (200, b"")),
    ],
    ids=["at once", "in pieces", "until the end", "empty"],
)
def test_reply_is_read_whole(answering: Answering, pieces: list[bytes], reply: tuple[int, bytes]) -> None:
    assert post("127.0.0.1", answering(pieces), "/", {"A": "b"}, b"body", 60) == reply


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        ([], "closed the connection"),
        ([b"HTTP/1.1 200 OK\r\nContent-"], "no complete reply"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"], "cut short"),
        ([b"SSH-2.0-x\r\n\r\n"], "not HTTP"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], "transfer encoding"),
    ],
)
def test_what_is_no_reply_is_an_error(answering: Answering, pieces: list[bytes], reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        post("127.0.0.1", answering(pieces), "/", {}, b"body", 60)
