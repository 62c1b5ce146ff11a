"""A client that sends whatever it is told, on a connection that it keeps as long as the server does.

Owns: the socket and reading answers. Never: refusing a request that no honest client would send.
"""

import socket
from http.client import HTTPResponse
from types import TracebackType
from typing import NamedTuple


class RawAnswer(NamedTuple):
    """HTTP status, content type and body."""

    status: int
    content_type: str
    body: bytes


class RawClient:
    """One connection to `127.0.0.1:port`. Use it in a `with` statement."""

    def __init__(self, port: int, *, timeout_s: float = 120) -> None:
        self._port = port
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None

    def ask(self, method: str, target: bytes, body: bytes = b"", authorization: str = "") -> RawAnswer:
        """Send one request and return the answer. Raises OSError or HTTPException if none comes."""
        try:
            return self._ask(method, target, body, authorization)
        except BaseException:
            self.close()
            raise

    def _ask(self, method: str, target: bytes, body: bytes, authorization: str) -> RawAnswer:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), self._timeout_s)
        head = [b"%b %b HTTP/1.1" % (method.encode(), target), b"Host: node", b"Content-Length: %d" % len(body)]
        if authorization:
            head.append(b"Authorization: " + authorization.encode())
        self._socket.sendall(b"\r\n".join([*head, b"", body]))
        with HTTPResponse(self._socket, method=method) as response:
            response.begin()
            answer = RawAnswer(response.status, response.getheader("content-type", ""), response.read())
            stays = not response.will_close
        if not stays:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
