"""A TCP proxy before a PostgreSQL server that cuts connections at the worst moment.

Owns: forwarding, and the cut around a COMMIT. Never: the protocol beyond the word.
"""

import contextlib
import socket
import threading

from sqlalchemy.engine import make_url

COMMIT = b"COMMIT\0"


class CuttingProxy:
    """`url` leads through the proxy. `cut_commit` arms one cut; use as a context manager."""

    def __init__(self, url: str) -> None:
        target = make_url(url)
        self._server = (target.host or "127.0.0.1", target.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._cut: str | None = None
        self._refusing = False
        self.cuts = 0
        port = self._listener.getsockname()[1]
        # Encryption would hide the word.
        plain = target.set(host="127.0.0.1", port=port).update_query_dict(
            {"sslmode": "disable", "gssencmode": "disable"}
        )
        self.url = plain.render_as_string(hide_password=False)

    def cut_commit(self, when: str) -> None:
        """Cut the next connection that commits: `before` the server hears of it, or `after` it has obeyed."""
        self._cut = when

    def refuse(self, refusing: bool) -> None:
        """Cut everything and accept nobody, or let them in again."""
        self._refusing = refusing
        if refusing:
            for end in self._sockets:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "CuttingProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.refuse(True)
        for end in self._sockets:
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            server = socket.create_connection(self._server)
            self._sockets += [client, server]
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65_536):
                if self._cut is not None and COMMIT in data:
                    self._cut_here(data, client, server)
                server.sendall(data)
        self._hang_up(server)

    def _cut_here(self, data: bytes, client: socket.socket, server: socket.socket) -> None:
        when, self._cut = self._cut, None
        self.cuts += 1
        # Nothing that the server says from now on reaches the client.
        self._hang_up(client)
        if when == "before":
            raise ConnectionAbortedError

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65_536):
                client.sendall(data)
        self._hang_up(client)

    @staticmethod
    def _hang_up(end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
