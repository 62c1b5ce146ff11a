"""`/v1/events`: Server-Sent Events, or one batch of events for a long poll.

Owns: HTTP's side of the stream. Never: which events (`hub`).
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from clarion.api.asgi import Headers, Receive, Scope, Send, header, read_get_or_post, send_answer, wait_for_leave
from clarion.api.settings import ApiSettings
from clarion.api.streams.access import AccessCheck
from clarion.api.streams.hub import StreamHub, take_on_reorg
from clarion.api.streams.subscription import Message, Subscription
from clarion.node.errors import RpcError, StorageError, StreamError, text_for_clients
from clarion.notifiers.stream.messages import error_message
from clarion.notifiers.stream.request import parse_request

EVENTS_PATH = "/v1/events"
MAX_REQUEST_BYTES = 32 << 20
"""Filters with a million scripts are welcome."""

KEEP_ALIVE_S = 15.0
LONGEST_POLL_S = 60
MAX_BATCH = 1000

_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)

_STATUS = {
    "bad-request": 400,
    "bad-cursor": 400,
    "no-such-height": 404,
    "reorganised": 409,
    "other-log": 410,
    "unknown-cursor": 410,
    "cursor-too-old": 410,
    "pruned": 410,
}
"""HTTP status of each code; everything else is 503."""

_SSE_HEADERS: Headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
_JSON = b"application/json"


class EventsEndpoint:
    """An ASGI application: GET with fields in the query string, POST with fields in a JSON body.

    `wait=<seconds>` asks for a long poll; without it the answer is a stream of Server-Sent Events.
    """

    def __init__(self, settings: ApiSettings, hub: StreamHub) -> None:
        self._access = AccessCheck(settings)
        self._params = settings.params
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._access.admit(scope, send):
            return
        body = await read_get_or_post(scope, receive, send, MAX_REQUEST_BYTES)
        if body is None:
            return
        try:
            fields = _fields(scope, body)
            wait_s, limit = _poll(fields)
            refuse_stale = take_on_reorg(fields)
            request = parse_request(fields, self._params)
            subscription = await self._hub.subscribe(request, refuse_stale=refuse_stale)
        except StreamError as error:
            await send_answer(send, _STATUS.get(error.code, 503), error_message(error), _JSON)
            return
        except (RpcError, StorageError) as error:
            await send_answer(send, 503, error_message(StreamError("unavailable", text_for_clients(error))), _JSON)
            return
        try:
            if wait_s is None:
                await _unless_left(_stream(subscription, send), receive)
            else:
                await _unless_left(_answer_poll(subscription, send, wait_s, limit), receive)
        finally:
            self._hub.drop(subscription)


def _fields(scope: Scope, body: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    if body:
        try:
            sent = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise StreamError("bad-request", f"the body is no JSON: {error}") from None
        if not isinstance(sent, dict):
            raise StreamError("bad-request", "the body is no JSON object")
        fields |= sent
    last = header(scope, b"last-event-id")
    if last:
        # A browser that connects again sends it, and knows better than the address that it was once given.
        fields["from"] = last.decode("latin-1")
    return fields


def _poll(fields: dict[str, Any]) -> tuple[float | None, int]:
    """Take `wait` and `limit` out of the fields and return them."""
    wait = fields.pop("wait", None)
    wait_s = None if wait is None else _number("wait", wait, 0, LONGEST_POLL_S)
    return wait_s, int(_number("limit", fields.pop("limit", MAX_BATCH), 1, MAX_BATCH))


def _number(name: str, value: Any, least: int, most: int) -> float:
    """Return a number that was sent as one or as plain digits. Raises StreamError `bad-request`."""
    text = "" if isinstance(value, bool) else str(value)
    if not _NUMBER.fullmatch(text) or not least <= float(text) <= most or (name == "limit" and "." in text):
        raise StreamError("bad-request", f"{name}: a number from {least} to {most} expected, not {value!r}")
    return float(text)


async def _unless_left(answer: Any, receive: Receive) -> None:
    """Run `answer` to its end, or until the client has left."""
    tasks = [asyncio.ensure_future(answer), asyncio.ensure_future(wait_for_leave(receive))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stream(subscription: Subscription, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _SSE_HEADERS})
    await send({"type": "http.response.body", "body": b": clarion\n\n", "more_body": True})
    while messages := await subscription.next(KEEP_ALIVE_S):
        body = b"".join(map(_sse, messages))
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _sse(message: Message) -> bytes:
    """Return one message in the format of Server-Sent Events.

    A block without data dispatches nothing in a client but moves its Last-Event-ID on.
    """
    if message.kind == "alive":
        return f": alive\nid: {message.cursor}\n\n".encode()
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (message.cursor.encode(), message.kind.encode(), message.data)


async def _answer_poll(subscription: Subscription, send: Send, wait_s: float, limit: int) -> None:
    """Answer with what there is, or with the first that comes within `wait_s` seconds."""
    found, status, answer = await collect(subscription, wait_s, limit)
    body = b'{"cursor":%b,"more":%b,"messages":[%b]}' % (
        orjson.dumps(answer["cursor"]),
        orjson.dumps(answer["more"]),
        b",".join(message.data for message in found),
    )
    await send_answer(send, status, body, _JSON)


async def collect(
    subscription: Subscription, wait_s: float, limit: int
) -> tuple[list[Message], int, Mapping[str, object]]:
    """Return (messages, HTTP status, cursor and whether more may wait) of one long poll."""
    clock = asyncio.get_running_loop()
    deadline = clock.time() + wait_s
    found: list[Message] = []
    cursor, more = str(subscription.place), False
    while True:
        patience_s = 0.0 if any(each.kind != "live" for each in found) else max(0.0, deadline - clock.time())
        batch = await subscription.next(patience_s)
        if not batch or batch[0].kind == "alive":
            cursor = batch[0].cursor if batch else cursor
            break
        room = limit - len(found)
        found += batch[:room]
        cursor, more = found[-1].cursor, len(batch) > room or len(found) >= limit
        if more:
            break
    shown = [each for each in found if each.kind != "live"]
    return shown, 200, {"cursor": cursor, "more": more}
