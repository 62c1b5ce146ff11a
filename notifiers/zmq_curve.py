"""CURVE: sockets of ZMQ that only those can read who know the node's public key, or whom the node knows.

Owns: reading keys (pyzmq's certificate files), and letting clients in. Never: sockets' addresses.
Source: https://rfc.zeromq.org/spec/26/ (CurveZMQ), https://rfc.zeromq.org/spec/27/ (ZAP).
"""

from dataclasses import dataclass
from pathlib import Path

import zmq
from zmq.auth import load_certificate
from zmq.auth.thread import ThreadAuthenticator

from clarion.node.errors import ConfigError

_DOMAIN = "clarion"
_ENDINGS = (".key", ".key_secret")


@dataclass(frozen=True, slots=True)
class Curve:
    """The node's own key, and the folder with the public keys of its clients; without one, who knows the node's key may come."""

    secret_key: bytes
    """In Z85, as libzmq takes it."""
    clients: Path | None = None


class ServerContext:
    """A context for sockets that are bound, with CURVE or without. `term` ends it, when its sockets are closed."""

    def __init__(self, curve: Curve | None) -> None:
        self._curve = curve
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._guard: ThreadAuthenticator | None = None
        if curve is not None and curve.clients is not None:
            self._guard = ThreadAuthenticator(self._context)
            self._guard.start()
            self._guard.configure_curve_callback(_DOMAIN, _Clients(curve.clients))

    def socket(self, kind: int) -> "zmq.Socket[bytes]":
        """Return a new socket; with CURVE it takes encrypted connections only."""
        made = self._context.socket(kind)
        if self._curve is not None:
            made.set(zmq.CURVE_SERVER, 1)
            made.set(zmq.CURVE_SECRETKEY, self._curve.secret_key)
            if self._guard is not None:
                made.set_string(zmq.ZAP_DOMAIN, _DOMAIN)
        return made

    def term(self) -> None:
        """End it."""
        if self._guard is not None:
            self._guard.stop()
        self._context.term()


class _Clients:
    """Knows clients by the files of a folder, which is read at each connection: keys come and go without a restart."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether the client with this public key (Z85) may come in."""
        return any(_public_key(path) == key for path in self._folder.glob(f"*{_ENDINGS[0]}"))


def _public_key(path: Path) -> bytes | None:
    try:
        return load_certificate(path)[0]
    except (OSError, ValueError):
        return None


def read_curve(key_file: str | None, clients: str | None) -> Curve | None:
    """Return what -zmqcurvekey and -zmqcurveclients ask for, None for plain sockets. Raises ConfigError."""
    if key_file is None:
        if clients is not None:
            raise ConfigError("-zmqcurveclients needs -zmqcurvekey")
        return None
    if not zmq.has("curve"):
        raise ConfigError("-zmqcurvekey: this build of libzmq has no CURVE")
    try:
        _, secret = load_certificate(Path(key_file))
    except (OSError, ValueError) as error:
        raise ConfigError(f"-zmqcurvekey={key_file}: {error}") from None
    if secret is None:
        raise ConfigError(f"-zmqcurvekey={key_file}: it holds no secret key: name the file that ends in .key_secret")
    folder = None if clients is None else Path(clients)
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"-zmqcurveclients={clients}: no such folder")
    return Curve(secret, folder)
