"""A receiver of webhooks: a real HTTP(S) server on a thread.

Owns: the server, what it got, and answering as the test says. Never: asserting.
"""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Answer = tuple[int, dict[str, str]]


@dataclass
class Posted:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes
    connection: tuple[str, int] = field(default=("", 0))

    @property
    def id(self) -> str:
        """The message's id."""
        return self.headers["webhook-id"]


class WebhookServer:
    """A context manager. `answer` says status and headers; `hang` keeps every answer back until it is set."""

    def __init__(self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.got: list[Posted] = []
        self.answer: Callable[[Posted], Answer] = lambda posted: (204, {})
        self.hang: threading.Event | None = None
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._handle(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"webhook+{'https' if tls else 'http'}://{address}:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        headers = {name.lower(): value for name, value in request.headers.items()}
        posted = Posted(request.path, headers, body, request.client_address[:2])
        if self.hang is not None:
            self.hang.wait(30)
        status, more = self.answer(posted)
        self.got.append(posted)
        request.send_response(status)
        for name, value in more.items():
            request.send_header(name, value)
        if status != 204:
            request.send_header("Content-Length", "0")
        request.end_headers()

    def __enter__(self) -> "WebhookServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.hang is not None:
            self.hang.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def own_certificate(folder: Path, address: str = "127.0.0.1") -> tuple[ssl.SSLContext, Path]:
    """Return a server's TLS context for an address, and the file by which a client trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "clarion test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path, key_path = folder / "cert.pem", folder / "key.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, key_path)
    return context, path
