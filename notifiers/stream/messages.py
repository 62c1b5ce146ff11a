"""Messages of the stream as bytes: events, and what else subscribers are told.

Owns: their JSON, and the same as msgpack where a subscriber asks for that. Never: where they go.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
import orjson

from clarion.node.errors import StreamError
from clarion.node.events.cursor import Cursor
from clarion.node.events.encoding import event_json
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.address import encode_address
from clarion.notifiers.stream.filters import StreamEvent

_ADDRESSES_KEPT = 65_536

ENCODINGS: dict[str, Callable[[Any], bytes]] = {"json": orjson.dumps, "msgpack": msgspec.msgpack.encode}
"""How messages become bytes. Both hold the same names and values."""


class MessageEncoder:
    """Encodes for one network. Thread-safe."""

    def __init__(self, params: ChainParams, encoding: str = "json") -> None:
        self._encode = ENCODINGS[encoding]
        self._address_of: Callable[[bytes], str | None] = lru_cache(_ADDRESSES_KEPT)(
            lambda script: encode_address(script, params)
        )

    def event(self, told: StreamEvent, details: frozenset[str] = frozenset()) -> bytes:
        """Return an event's message."""
        value = event_json(told.event, told.cursor, details, address_of=self._address_of, spent=told.spent)
        return self._encode(value)


def notice(kind: str, cursor: Cursor, **values: Any) -> bytes:
    """Return a message that is no event: `live`, `mempool_gap`, `lagged`. It has a type and a cursor, but no `id`."""
    return orjson.dumps({"type": kind, "cursor": str(cursor), **values})


def error_message(error: StreamError) -> bytes:
    """Return the message that ends a stream, or refuses it."""
    return orjson.dumps({"type": "error", "code": error.code, "message": error.message, **error.details})
