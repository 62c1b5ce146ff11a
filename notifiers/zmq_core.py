"""Bitcoin Core's five ZMQ topics: the same bytes, order and counters.

Owns: the PUB sockets and the messages of `-zmqpub…`. Never: reading the log, threads.
Source: Core's doc/zmq.md, src/zmq/. Unlike there, a failed send never removes a notifier; its message counts as lost,
so that the subscriber sees the gap. What happens to slow subscribers is in `pub_socket`.
"""

import logging
from collections.abc import Mapping, Sequence

import zmq

from clarion.node.events.mempool_rows import BLOCK_REASON, read_added_transaction, read_sequence
from clarion.node.events.row import EventKind, EventRow, read_tip_body
from clarion.node.primitives.ids import BlockHash
from clarion.notifiers.notifier import LoggedEvent
from clarion.notifiers.pub_socket import PubSocket
from clarion.notifiers.topic_marks import Counters, TopicMarks
from clarion.notifiers.zmq_address import TOPICS, ZmqAddress
from clarion.notifiers.zmq_curve import Curve, ServerContext

_log = logging.getLogger(__name__)

_MAX_COUNTER = 0xFFFFFFFF


class Publisher:
    """One topic at one address. The counter starts at 0, is the publisher's own and wraps at 2^32."""

    __slots__ = ("_send", "_topic", "address", "counter")

    def __init__(self, address: ZmqAddress, socket: PubSocket) -> None:
        self.address = address
        self.counter = 0
        self._topic = address.topic.encode()
        self._send = socket.send

    def publish(self, body: bytes) -> None:
        """Hand one message (topic, body, counter as 4 little-endian bytes) to libzmq."""
        try:
            self._send(self._topic, body, self.counter.to_bytes(4, "little"))
        except zmq.ZMQError as error:
            _log.error("zmq: lost message %d of %s at %s: %s", self.counter, *self._where(), error)
        self.counter = (self.counter + 1) & _MAX_COUNTER

    def _where(self) -> tuple[str, str]:
        return self.address.topic, self.address.address


class CoreTopics:
    """The notifier behind all `-zmqpub…` options of a node.

    Several topics at one address share its socket; the first of them, in the order of `TOPICS`, sets its high-water
    mark. Runs on its lane's thread, sockets included, except `open` and `close`, which run before and after it.
    """

    name = "zmq"
    awaited = True
    early = True

    def __init__(
        self,
        addresses: Sequence[ZmqAddress],
        *,
        bind_wait_s: float = 5.0,
        marks: TopicMarks | None = None,
        curve: Curve | None = None,
    ) -> None:
        """`bind_wait_s`: how long `open` waits for an address that a node that has just been killed still holds.

        `marks` are told where in the log each message came from, for those who missed some.
        """
        self._curve = curve
        self._marks = marks
        self._addresses = sorted(addresses, key=lambda address: TOPICS.index(address.topic))
        self._bind_wait_s = bind_wait_s
        self._context: ServerContext | None = None
        self._sockets: dict[str, PubSocket] = {}
        self._publishers: dict[str, list[Publisher]] = {topic: [] for topic in TOPICS}

    @property
    def needs_blocks(self) -> bool:
        """Whether a topic is published that is told from the block itself."""
        return any(self._publishers[topic] for topic in ("hashtx", "rawtx", "rawblock"))

    def open(self) -> None:
        """Bind every address. Raises ConfigError naming the option and libzmq's reason."""
        self._context = ServerContext(self._curve)
        for address in self._addresses:
            if not address.has_transport:
                _log.warning("zmq: -zmq%s=%s is no ZMQ address: nothing is published there", *_option(address))
                continue
            socket = self._sockets.get(address.address)
            if socket is None:
                socket = self._sockets[address.address] = PubSocket(self._context, address, self._bind_wait_s)
            self._publishers[address.topic].append(Publisher(address, socket))

    def close(self) -> None:
        """Close the sockets at once; what subscribers have not fetched is dropped, as in Core."""
        for socket in self._sockets.values():
            socket.close()
        if self._context is not None:
            self._context.term()

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return what getzmqnotifications answers, in Core's order."""
        return [
            {"type": publisher.address.type, "address": publisher.address.address, "hwm": publisher.address.hwm}
            for topic in TOPICS
            for publisher in self._publishers[topic]
        ]

    def tell(self, event: LoggedEvent) -> None:
        """Publish one row. Raises StorageError, before anything is sent, if the block that it needs is unreadable."""
        kind = event.row.kind
        if self._marks is not None and self._marks.is_due(event.row.seq):
            self._marks.note(event.row.seq, self._counters())
        if kind is EventKind.BLOCK_CONNECTED:
            self._tell_block(event, b"C")
        elif kind is EventKind.BLOCK_DISCONNECTED:
            self._tell_block(event, b"D")
        elif kind is EventKind.TIP_CHANGED:
            self._tell_tip(event)
        elif kind is EventKind.TX_ADDED:
            self._tell_added(event.row)
        elif kind is EventKind.TX_REMOVED:
            self._tell_removed(event.row)

    def _counters(self) -> Counters:
        return {(topic, each.address.address): each.counter for topic in TOPICS for each in self._publishers[topic]}

    def _tell_added(self, row: EventRow) -> None:
        assert row.txid is not None
        mempool_sequence, raw = read_added_transaction(row.body)
        self._publish("hashtx", row.txid[::-1])
        self._publish("rawtx", raw)
        self._publish("sequence", row.txid[::-1] + b"A" + mempool_sequence.to_bytes(8, "little"))

    def _tell_removed(self, row: EventRow) -> None:
        # What a block takes out of the mempool is told with the block; the sequence has advanced all the same.
        if row.reason != BLOCK_REASON:
            assert row.txid is not None
            mempool_sequence = read_sequence(row.body)
            self._publish("sequence", row.txid[::-1] + b"R" + mempool_sequence.to_bytes(8, "little"))

    def _publish(self, topic: str, body: bytes) -> None:
        for publisher in self._publishers[topic]:
            publisher.publish(body)

    def _tell_block(self, event: LoggedEvent, label: bytes) -> None:
        hash_tx, raw_tx = self._publishers["hashtx"], self._publishers["rawtx"]
        if hash_tx or raw_tx:
            for tx in event.block().txs:
                for publisher in hash_tx:
                    publisher.publish(tx.txid[::-1])
                for publisher in raw_tx:
                    publisher.publish(tx.raw)
        self._publish("sequence", event.row.block_hash[::-1] + label)

    def _tell_tip(self, event: LoggedEvent) -> None:
        block_hash: BlockHash = event.row.block_hash
        fork_hash, initial_download = read_tip_body(event.row.body)
        # Silent while the node catches up, and where blocks were only disconnected: the tip was told before.
        if initial_download or fork_hash == block_hash:
            return
        raw = event.block().raw if self._publishers["rawblock"] else b""
        self._publish("hashblock", block_hash[::-1])
        self._publish("rawblock", raw)


def _option(address: ZmqAddress) -> tuple[str, str]:
    return address.type, address.address


class _Recorder(Publisher):
    """Keeps messages instead of sending them."""

    def __init__(self, bodies: list[bytes]) -> None:
        self._bodies = bodies

    def publish(self, body: bytes) -> None:
        self._bodies.append(body)


def topic_bodies(event: LoggedEvent, topic: str) -> list[bytes]:
    """Return the bodies of the messages that one topic tells of a row, in order. Raises StorageError."""
    bodies: list[bytes] = []
    topics = CoreTopics([])
    topics._publishers[topic] = [_Recorder(bodies)]
    topics.tell(event)
    return bodies
