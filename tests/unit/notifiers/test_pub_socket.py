"""What happens at the high-water mark."""

import threading
import time
from collections.abc import Iterator

import pytest
import zmq

from clarion.notifiers.pub_socket import PubSocket
from clarion.notifiers.zmq_address import ZmqAddress
from clarion.notifiers.zmq_curve import ServerContext
from helpers.event_source import Subscriber, free_tcp_address

_BODY = bytes(1000)


@pytest.fixture
def publisher() -> Iterator[PubSocket]:
    """Return a bound socket with a small queue."""
    context = ServerContext(None)
    socket = PubSocket(context, ZmqAddress("rawtx", free_tcp_address(), 10), 0)
    yield socket
    socket.close()
    context.term()


def _send(publisher: PubSocket, count: int) -> None:
    for number in range(count):
        publisher.send(b"rawtx", _BODY, number.to_bytes(4, "little"))


def test_burst_far_above_the_mark_reaches_a_subscriber_that_reads(publisher: PubSocket) -> None:
    # On a busy machine a subscriber that reads may be held up for longer than the patience of 50 ms.
    publisher.socket.set(zmq.SNDTIMEO, 60_000)
    with Subscriber(publisher._address, hwm=10) as subscriber:
        sender = threading.Thread(target=_send, args=(publisher, 20_000))
        sender.start()
        assert [counter for _, _, counter in subscriber.receive(20_000)] == list(range(20_000))
        sender.join()


def test_subscriber_that_does_not_read_costs_the_others_a_moment(
    publisher: PubSocket, caplog: pytest.LogCaptureFixture
) -> None:
    with Subscriber(publisher._address, hwm=10), Subscriber(publisher._address) as reading:
        _send(publisher, 20_000)
        counters = [counter for _, _, counter in reading.receive(1000)]
        assert counters == sorted(counters)
    # Each of them cost `PATIENCE_MS`; 20,000 messages would have cost a quarter of an hour.
    assert 1 <= caplog.text.count("too slow") < 20


def test_without_subscribers_nothing_waits(publisher: PubSocket, caplog: pytest.LogCaptureFixture) -> None:
    _send(publisher, 1000)
    assert not caplog.text


def test_patience_comes_back_and_wears_out_faster_each_time(publisher: PubSocket) -> None:
    publisher._lose_patience()
    first = publisher.impatient_s
    publisher._lose_patience()
    assert publisher.impatient_s == 2 * first
    publisher._patient_again_at = time.monotonic() - 1
    publisher.send(b"rawtx", b"", b"")
    assert publisher._is_patient
    publisher._patient_again_at = time.monotonic() - 1000
    publisher._lose_patience()
    assert publisher.impatient_s == first
