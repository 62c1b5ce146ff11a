"""Small adapters between parts that do not know each other.

Owns: the shapes that one part asks for and another offers. Never: behaviour of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clarion.notifiers.runner import EventsRunner


class EventsHandle:
    """Delivery as RPC methods see it."""

    def __init__(self, runner: EventsRunner) -> None:
        self._runner = runner

    def sync(self, seq: int, timeout: float) -> bool:
        """Wait until every row up to `seq` was handed to the transports; False after `timeout` seconds."""
        return self._runner.sync(seq, timeout)

    def notifications(self) -> Sequence[Mapping[str, Any]]:
        """Return type, address and hwm of every active ZMQ notifier."""
        return self._runner.descriptions().get("zmq", [])
