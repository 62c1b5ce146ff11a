"""The event stream on ZMQ: `-zmqpubevent` publishes it.

Owns: the topic `event`: parts are topic, JSON or msgpack, and a counter of 8 little-endian bytes. Never: reading the log, filters,
replay (`zmq_replay`).
"""

import logging
from collections.abc import Mapping, Sequence

import zmq

from clarion.node.events.cursor import cursor_at
from clarion.node.events.expand import expand_row, needs_block
from clarion.node.params.chain_params import ChainParams
from clarion.notifiers.notifier import LoggedEvent
from clarion.notifiers.pub_socket import PubSocket
from clarion.notifiers.stream.filters import StreamEvent
from clarion.notifiers.stream.messages import MessageEncoder
from clarion.notifiers.zmq_address import EVENT_TOPIC, ZmqAddress
from clarion.notifiers.zmq_curve import Curve, ServerContext

_log = logging.getLogger(__name__)


class EventTopic:
    """Publishes every event once it is durable, at one or more addresses. Counters start at 0 with the process."""

    name = "zmq event"
    awaited = False

    def __init__(
        self,
        addresses: Sequence[ZmqAddress],
        params: ChainParams,
        *,
        bind_wait_s: float = 5.0,
        curve: Curve | None = None,
        encoding: str = "json",
    ) -> None:
        self._curve = curve
        self._addresses = list(addresses)
        self._bind_wait_s = bind_wait_s
        self._encoder = MessageEncoder(params, encoding)
        self._context: ServerContext | None = None
        self._sockets: list[PubSocket] = []
        self._counter = 0

    def open(self) -> None:
        """Bind every address. Raises ConfigError naming the option and libzmq's reason."""
        self._context = ServerContext(self._curve)
        for address in self._addresses:
            self._sockets.append(PubSocket(self._context, address, self._bind_wait_s))

    def close(self) -> None:
        """Close the sockets at once."""
        for socket in self._sockets:
            socket.close()
        if self._context is not None:
            self._context.term()

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return each address."""
        return [{"type": each.type, "address": each.address, "hwm": each.hwm} for each in self._addresses]

    def tell(self, event: LoggedEvent) -> None:
        """Publish the events of one row. Raises StorageError, before anything is sent, if its block is unreadable."""
        row = event.row
        block = event.block() if needs_block(row.kind) else None
        for each in expand_row(row, event.log_id, block):
            told = StreamEvent(each, cursor_at(event.log_id, row, each.id.index))
            self._publish(self._encoder.event(told))

    def _publish(self, body: bytes) -> None:
        counter = self._counter.to_bytes(8, "little")
        for socket in self._sockets:
            try:
                socket.send(EVENT_TOPIC.encode(), body, counter)
            except zmq.ZMQError as error:
                _log.error("zmq: lost event message %d: %s", self._counter, error)
        self._counter += 1
