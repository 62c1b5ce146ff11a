"""A PUB socket that gives subscribers a moment before it drops.

Owns: binding, and what happens at the high-water mark. Never: topics, counters.
Core's socket drops as soon as its queue for a subscriber is full, so that the transactions of one block overrun a
healthy subscriber. This one waits first, but only so long: a subscriber that does not read delays the others by
`PATIENCE_MS` now and then, and after that its messages are dropped as Core drops them.
"""

import ipaddress
import logging
import time

import zmq

from clarion.node.errors import ConfigError
from clarion.notifiers.zmq_address import ZmqAddress
from clarion.notifiers.zmq_curve import ServerContext

_log = logging.getLogger(__name__)

PATIENCE_MS = 50
_FIRST_IMPATIENCE_S = 1.0
_LONGEST_IMPATIENCE_S = 60.0
_BIND_RETRY_S = 0.1
_MORE = int(zmq.SNDMORE)


class PubSocket:
    """Sends from one thread. `impatient_s` is for how long it drops at once after it waited in vain; it grows."""

    def __init__(self, context: ServerContext, address: ZmqAddress, bind_wait_s: float) -> None:
        """Bind to the address. Raises ConfigError naming the option, after `bind_wait_s` if the address is in use."""
        self.impatient_s = _FIRST_IMPATIENCE_S
        self._address = address.address
        self._is_patient = True
        self._patient_again_at = 0.0
        self.socket = context.socket(zmq.PUB)
        self.socket.set(zmq.SNDHWM, address.hwm)
        self.socket.set(zmq.TCP_KEEPALIVE, 1)
        self.socket.set(zmq.SNDTIMEO, PATIENCE_MS)
        self.socket.set(zmq.XPUB_NODROP, 1)
        # The binding's own method: the wrapper around it looks for options that no PUB socket has, which takes a third
        # of the time of a short message.
        self._send = super(zmq.Socket, self.socket).send
        try:
            bind_socket(self.socket, f"-zmq{address.type}", address.address, bind_wait_s)
        except ConfigError:
            self.close()
            raise

    def send(self, topic: bytes, body: bytes, counter: bytes) -> None:
        """Send one message of three parts. Raises ZMQError where libzmq can't take it at all."""
        if not self._is_patient and time.monotonic() >= self._patient_again_at:
            self._set_patient(True)
        send = self._send
        # Three calls are 2.5 times as fast as send_multipart, which inspects every part first.
        try:
            send(topic, _MORE)
        except zmq.Again:
            self._lose_patience()
            send(topic, _MORE)
        # A queue is counted in whole messages: once the first part is taken, so are the others.
        send(body, _MORE)
        send(counter)

    def close(self) -> None:
        """Close at once; what subscribers have not fetched is dropped, as in Core."""
        self.socket.close(linger=0)

    def _lose_patience(self) -> None:
        now = time.monotonic()
        recently = now < self._patient_again_at + self.impatient_s
        self.impatient_s = min(self.impatient_s * 2, _LONGEST_IMPATIENCE_S) if recently else _FIRST_IMPATIENCE_S
        self._patient_again_at = now + self.impatient_s
        self._set_patient(False)
        _log.warning("zmq: a subscriber of %s is too slow: messages to it are dropped", self._address)

    def _set_patient(self, patient: bool) -> None:
        self._is_patient = patient
        self.socket.set(zmq.XPUB_NODROP, int(patient))


def bind_socket(socket: "zmq.Socket[bytes]", option: str, address: str, wait_s: float) -> None:
    """Bind, after `wait_s` seconds if the address is in use. Raises ConfigError naming the option and the reason."""
    socket.set(zmq.IPV6, int(_is_ipv6(address)))
    deadline = time.monotonic() + wait_s
    while True:
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            if error.errno == zmq.EADDRINUSE and time.monotonic() < deadline:
                time.sleep(_BIND_RETRY_S)
                continue
            raise ConfigError(f"{option}={address}: can't bind: {zmq.strerror(error.errno or 0)}") from None
        return


def _is_ipv6(address: str) -> bool:
    """Whether the address binds to a numeric IPv6 address: only then is IPv6 switched on."""
    if not address.startswith("tcp://"):
        return False
    host = address.removeprefix("tcp://").rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
