"""One ZMQ notification as the operator asked for it: topic, address, high-water mark.

Owns: how an option's value is read. Never: sockets.
"""

from dataclasses import dataclass

from clarion.node.errors import ConfigError

DEFAULT_HWM = 1000
"""Messages that wait for one slow subscriber before libzmq drops; 0 is without limit."""

TOPICS = ("hashblock", "hashtx", "rawblock", "rawtx", "sequence")
"""Bitcoin Core's topics in the order in which it tells one event to several notifiers."""

EVENT_TOPIC = "event"
"""The topic of the event stream, which is not Core's."""

_MAX_PORT = 0xFFFF


@dataclass(frozen=True, slots=True)
class ZmqAddress:
    """A notifier of `topic` at `address` (as libzmq takes it). A negative `hwm` means the default, as in Core."""

    topic: str
    address: str
    hwm: int = DEFAULT_HWM

    def __post_init__(self) -> None:
        if self.topic not in (*TOPICS, EVENT_TOPIC):
            raise ConfigError(f"no such ZMQ topic: {self.topic!r}; there are {', '.join(TOPICS)}")
        if self.address.startswith("unix:"):
            object.__setattr__(self, "address", "ipc://" + self.address.removeprefix("unix:"))
        if self.hwm < 0:
            object.__setattr__(self, "hwm", DEFAULT_HWM)

    @property
    def type(self) -> str:
        """The notifier's name as getzmqnotifications shows it."""
        return f"pub{self.topic}"

    @property
    def has_transport(self) -> bool:
        """Whether the address names a transport at all. Core goes on without ZMQ where it does not."""
        return "://" in self.address


def parse_zmq_address(topic: str, text: str, hwm: int = DEFAULT_HWM) -> ZmqAddress:
    """Return the notification that `-zmqpub<topic>=<text>` asks for. Raises ConfigError in Core's words for a bad port.

    `unix:/path` becomes `ipc:///path`, as in Core; `ipc://` is taken too.
    """
    address = ZmqAddress(topic, text, hwm)
    if not _has_valid_port(address.address):
        raise ConfigError(f"Invalid port specified in -zmqpub{topic}: '{text}'")
    return address


def _has_valid_port(address: str) -> bool:
    transport, separator, rest = address.partition("://")
    if not separator:
        # A lone word is no address, but Core starts with it; a lone "host:port" is checked.
        host, colon, port = address.rpartition(":")
        return not colon or ":" in host or _is_port(port)
    if transport != "tcp":
        return True
    _, colon, port = rest.rpartition(":")
    return bool(colon) and (port in ("*", "0") or _is_port(port))


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_PORT
