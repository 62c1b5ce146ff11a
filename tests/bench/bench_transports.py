"""Messages a second on each transport, from a lane's thread to the receiver's confirmation.

Owns: the messages, the receivers, the table. Never: lanes, or how fast a receiver reads.
"""

import importlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from bench.report import Report, load_average
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind
from helpers.brokers import KINDS, broker
from helpers.webhook_server import WebhookServer

BODY = b'{"type":"tx_confirmed","data":"%b"}' % (b"x" * 460)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SLOW = {"exec": 20, "webhook": 4}
"""These send one message after the other: so many times fewer are enough."""

_MODULES = {
    "file": "json_lines",
    "exec": "command",
    "webhook": "webhook",
    "redis": "redis_streams",
    "nats": "nats_jetstream",
    "amqp": "amqp",
    "mqtt": "mqtt",
    "postgresql": "postgres_notify",
    "kafka": "kafka",
}


def run_transports(report: Report, work: Path, count: int) -> None:
    """Measure each transport whose receiver answers."""
    report.section(
        "Transports: messages a second",
        f"Events of {len(BODY)} bytes, confirmed batch by batch (`batch` of each transport's default), one lane. "
        f"Load average: {load_average()}.",
    )
    rows: list[Sequence[object]] = []
    for name in _MODULES:
        try:
            with _address(name, work) as url:
                rows.append((name, *_measure(name, url, count // SLOW.get(name, 1))))
        except pytest.skip.Exception as skipped:
            report.text(f"{name}: {skipped}.")
    report.table(["transport", "batch", "messages", "messages a second"], rows)


@contextmanager
def _address(name: str, work: Path) -> Iterator[str]:
    with ExitStack() as stack:
        if name == "file":
            yield f"file:{work / 'events.jsonl'}"
        elif name == "exec":
            yield "exec:/bin/true"
        elif name == "webhook":
            server = stack.enter_context(WebhookServer())
            yield f"{server.url}?private=1&secret={SECRET}"
        else:
            assert name in KINDS
            yield stack.enter_context(broker(name)).url


def _measure(name: str, url: str, count: int) -> tuple[int, int, float]:
    """Return batch size, messages, and messages a second."""
    kind: TransportKind = importlib.import_module(f"clarion.notifiers.transports.{_MODULES[name]}").KIND
    parts = urlsplit(url)
    transport = kind.make(NotifyUrl(parts, dict(parse_qsl(parts.query)), 60.0))
    transport.open()
    try:
        transport.send(_messages(0, 1))  # connects, and makes what is missing
        started = time.perf_counter()
        for first in range(1, count + 1, kind.batch):
            transport.send(_messages(first, min(kind.batch, count + 1 - first)))
        return kind.batch, count, count / (time.perf_counter() - started)
    finally:
        transport.close()


def _messages(first: int, count: int) -> list[Message]:
    return [
        Message(f"00112233aabbccdd.{seq}.0", f"cursor-{seq}", "tx_confirmed", 1_700_000_000, BODY)
        for seq in range(first, first + count)
    ]
