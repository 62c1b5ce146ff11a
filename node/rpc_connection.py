"""One HTTP request over one connection, as the command line needs it and no more.

Owns: the bytes of the request, the reading of the reply, the time limit. Never: credentials, JSON. The standard library's
client would be the larger part of a call's time: it loads the parser of e-mail and TLS.
"""

import socket

_CHUNK_BYTES = 1 << 16
_HEAD_LIMIT_BYTES = 1 << 16


def post(
    host: str, port: int, path: str, headers: dict[str, str], body: bytes, timeout_s: float | None
) -> tuple[int, bytes]:
    """Return the status and the body of the reply. Raises OSError, also for a reply that is cut or is not HTTP.

    `timeout_s` counts for each wait, None for no limit.
    """
    shown = f"[{host}]" if ":" in host else host
    lines = [f"POST {path} HTTP/1.1", f"Host: {shown}:{port}", "Connection: close", f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""])
    with socket.create_connection((host, port), timeout_s) as connection:
        connection.sendall(head.encode() + body)
        return _read_reply(connection)


def _read_reply(connection: socket.socket) -> tuple[int, bytes]:
    received = bytearray()
    while (end := received.find(b"\r\n\r\n")) < 0:
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk or len(received) > _HEAD_LIMIT_BYTES:
            raise OSError("no complete reply" if received else "server closed the connection")
        received += chunk
    status, length = _parse_head(bytes(received[:end]))
    del received[: end + 4]
    while length is None or len(received) < length:
        chunk = connection.recv(_CHUNK_BYTES)
        if not chunk:
            break
        received += chunk
    if length is not None and len(received) < length:
        raise OSError("reply was cut short")
    return status, bytes(received[:length])


def _parse_head(head: bytes) -> tuple[int, int | None]:
    """Return the status and the length of the body, None when the end of the connection ends it."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise OSError("reply is not HTTP")
    length = None
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == "content-length" and value.strip().isdigit():
            length = int(value)
        if name.lower() == "transfer-encoding":
            raise OSError("reply comes in a transfer encoding that this client does not know")
    return int(rest[:3]), length
