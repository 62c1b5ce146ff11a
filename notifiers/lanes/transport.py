"""What a transport is: something that takes a few messages at a time and says when the receiver has them.

Owns: the protocol between a lane and its transport, and how a transport is found by its URL. Never: the log, retries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult, unquote

from clarion.node.errors import ConfigError

BROKER_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Pauses between attempts where a server is expected back soon; the last one is repeated."""

TIMEOUT_S = 10.0
"""How long one attempt may take unless the URL says otherwise."""


@dataclass(frozen=True, slots=True)
class Message:
    """One event on its way. `id` is its identity (`log.seq.index`), `time` when it was logged, in Unix seconds."""

    id: str
    cursor: str
    type: str
    time: int
    body: bytes
    content_type: str = "application/json"


class Transport(Protocol):
    """Delivers to one receiver. Used by its lane's thread alone, `open` and `close` apart, which come before and after."""

    def open(self) -> None:
        """Take what is local. Never talks to a server: one that is away must not stop the node's start.

        Raises ConfigError, which does stop it.
        """

    def send(self, messages: Sequence[Message]) -> None:
        """Return when the receiver has confirmed all, in their order. Connects where it has to.

        Raises DeliveryError, and may raise anything else that means that it is to be tried again from the first message.
        """

    def close(self) -> None:
        """Give everything back. May be called after an `open` that raised."""


@dataclass(frozen=True, slots=True)
class NotifyUrl:
    """The address of a lane: its parts, and the settings behind `?` that are the transport's own."""

    parts: SplitResult
    settings: Mapping[str, str]
    timeout_s: float = TIMEOUT_S

    @property
    def shown(self) -> str:
        """The address as the log and `listlanes` show it: without password and settings."""
        host = self.parts.netloc.rpartition("@")[2]
        return f"{self.parts.scheme}:{'//' if host or self.parts.scheme != 'exec' else ''}{host}{self.parts.path}"

    @property
    def path(self) -> str:
        """The path, decoded."""
        return unquote(self.parts.path)

    def host(self) -> str:
        """Return the host. Raises ConfigError where there is none."""
        if not self.parts.hostname:
            raise ConfigError(f"-notify={self.shown}: a host is missing")
        return self.parts.hostname

    def port(self, default: int) -> int:
        """Return the port. Raises ConfigError where it is none."""
        try:
            return self.parts.port or default
        except ValueError:
            raise ConfigError(f"-notify={self.shown}: the port is no number up to 65535") from None

    def endpoint(self, scheme: str | None = None) -> str:
        """Return the address with user and password but without settings, for a library that reads it itself."""
        return self.parts._replace(scheme=scheme or self.parts.scheme, query="", fragment="").geturl()

    def text(self, name: str, default: str) -> str:
        """Return one of the transport's own settings."""
        return self.settings.get(name, default)

    def number(self, name: str, default: int, least: int = 0) -> int:
        """Return a setting that is a whole number. Raises ConfigError."""
        text = self.settings.get(name, str(default))
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise ConfigError(f"-notify={self.shown}: {name}={text}: a number of at least {least} expected")
        return int(text)

    def flag(self, name: str) -> bool:
        """Return a setting that is 0 (the default) or 1. Raises ConfigError."""
        text = self.settings.get(name, "0")
        if text not in ("0", "1"):
            raise ConfigError(f"-notify={self.shown}: {name}={text}: 0 or 1 expected")
        return text == "1"


@dataclass(frozen=True, slots=True)
class TransportKind:
    """One kind of transport: the schemes of its URLs, its own settings, and how its lanes behave unless told otherwise."""

    schemes: tuple[str, ...]
    make: Callable[[NotifyUrl], Transport]
    """Raises ConfigError for an address that makes no sense, or for a library that is not installed."""
    settings: frozenset[str] = frozenset()
    batch: int = 100
    """Messages that one attempt sends at most."""
    retry_s: tuple[float, ...] = BROKER_RETRY_S
    attempts: int = 0
    """After so many attempts in vain a message is given up; 0: never."""
    timeout_s: float = TIMEOUT_S
    encodings: tuple[str, ...] = ("json", "msgpack")


def missing_library(url: NotifyUrl, extra: str) -> ConfigError:
    """Return the error for a transport whose client library is not installed."""
    return ConfigError(
        f"-notify={url.shown}: its client library is missing, install it with: pip install 'clarion[{extra}]'"
    )
