"""`/v1/events` as a WebSocket: several subscriptions on one connection, which come and go.

Owns: the messages in both directions. Never: which events (`hub`).
Client to server: `{"op": "subscribe", "id": "a", …fields}`, `{"op": "unsubscribe", "id": "a"}`. Server to client:
`{"subscription": "a", "message": {…}}`, and `{"subscription": "a", "closed": true}` when one is over.
"""

import asyncio
from typing import Any

import orjson

from clarion.api.asgi import Receive, Scope, Send
from clarion.api.auth import is_allowed
from clarion.api.settings import ApiSettings
from clarion.api.streams.access import Access, AccessCheck
from clarion.api.streams.hub import StreamHub, take_on_reorg
from clarion.api.streams.subscription import Subscription
from clarion.node.errors import RpcError, StorageError, StreamError, text_for_clients
from clarion.notifiers.stream.messages import error_message, notice
from clarion.notifiers.stream.request import parse_request

KEEP_ALIVE_S = 15.0
MAX_SUBSCRIPTIONS = 100
"""On one connection."""

_REFUSED = 1008


class EventsSocket:
    """An ASGI application for the WebSocket."""

    def __init__(self, settings: ApiSettings, hub: StreamHub) -> None:
        self._access = AccessCheck(settings)
        self._allowed = settings.allowed
        self._params = settings.params
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        client = scope.get("client")
        if client is None or not is_allowed(client[0], self._allowed):
            await send({"type": "websocket.close", "code": _REFUSED})
            return
        if await self._access.check(scope) is not Access.GRANTED:
            # Before it is accepted, a connection that is closed is answered with HTTP status 403.
            await send({"type": "websocket.close", "code": _REFUSED})
            return
        await send({"type": "websocket.accept"})
        await _Connection(self._hub, self._params, send).serve(receive)


class _Connection:
    def __init__(self, hub: StreamHub, params: Any, send: Send) -> None:
        self._hub = hub
        self._params = params
        self._send = send
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def serve(self, receive: Receive) -> None:
        try:
            while (message := await receive())["type"] == "websocket.receive":
                await self._handle(message.get("text") or message.get("bytes") or "")
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _handle(self, text: str | bytes) -> None:
        name = ""
        try:
            try:
                asked = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise StreamError("bad-request", f"no JSON: {error}") from None
            if not isinstance(asked, dict):
                raise StreamError("bad-request", "no JSON object")
            name, op = str(asked.pop("id", "")), asked.pop("op", None)
            if op == "unsubscribe":
                await self._unsubscribe(name)
            elif op == "subscribe":
                await self._subscribe(name, asked)
            else:
                raise StreamError("bad-request", "op is subscribe or unsubscribe")
        except StreamError as error:
            await self._tell(name, error_message(error))
        except (RpcError, StorageError) as error:
            await self._tell(name, error_message(StreamError("unavailable", text_for_clients(error))))

    async def _subscribe(self, name: str, fields: dict[str, Any]) -> None:
        if name in self._tasks:
            raise StreamError("bad-request", f"there is a subscription {name!r} already")
        if len(self._tasks) >= MAX_SUBSCRIPTIONS:
            raise StreamError("bad-request", f"more than {MAX_SUBSCRIPTIONS} subscriptions on one connection")
        refuse_stale = take_on_reorg(fields)
        subscription = await self._hub.subscribe(parse_request(fields, self._params), refuse_stale=refuse_stale)
        self._tasks[name] = asyncio.create_task(self._pass_on(name, subscription))

    async def _unsubscribe(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is None:
            raise StreamError("bad-request", f"there is no subscription {name!r}")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self._tell_closed(name)

    async def _pass_on(self, name: str, subscription: Subscription) -> None:
        try:
            while messages := await subscription.next(KEEP_ALIVE_S):
                for each in messages:
                    await self._tell(name, each.data or notice("alive", subscription.place))
            self._tasks.pop(name, None)
            await self._tell_closed(name)
        finally:
            self._hub.drop(subscription)

    async def _tell(self, name: str, data: bytes) -> None:
        text = b'{"subscription":%b,"message":%b}' % (orjson.dumps(name), data)
        await self._send({"type": "websocket.send", "text": text.decode()})

    async def _tell_closed(self, name: str) -> None:
        text = orjson.dumps({"subscription": name, "closed": True}).decode()
        await self._send({"type": "websocket.send", "text": text})
