"""The JSON-RPC endpoint: POST with basic authentication on `/` and `/wallet/<name>`.

Owns: HTTP's side of a call. Never: what the body means (`jsonrpc`), methods.
"""

import asyncio
import logging
from functools import partial

from clarion.api import jsonrpc
from clarion.api.asgi import (
    CHALLENGE,
    CORE_METHODS,
    Receive,
    Scope,
    Send,
    header,
    read_body,
    send_answer,
    wait_for_leave,
)
from clarion.api.auth import Authenticator
from clarion.api.executor import Executor
from clarion.api.settings import ApiSettings

_log = logging.getLogger("clarion.rpc")

WRONG_PASSWORD_DELAY_S = 0.25
"""A wrong password is answered this late, to deter guessing."""


class RpcEndpoint:
    """An ASGI application for one path. Every answer is whole, with Content-Type exactly `application/json`."""

    def __init__(self, settings: ApiSettings, executor: Executor) -> None:
        self._settings = settings
        self._executor = executor
        self._authenticator = Authenticator(settings.credentials)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            known = scope["method"] in CORE_METHODS
            await send_answer(send, 405, b"JSONRPC server handles only POST requests" if known else b"")
            return
        authorization = header(scope, b"authorization")
        if authorization is None:
            await send_answer(send, 401, extra=CHALLENGE)
            return
        user = self._authenticator.user_of(authorization)
        if user is None:
            client = scope.get("client") or ("?", 0)
            _log.warning("ThreadRPCServer incorrect password attempt from %s:%s", client[0], client[1])
            await asyncio.sleep(WRONG_PASSWORD_DELAY_S)
            await send_answer(send, 401, extra=CHALLENGE)
            return
        body = await read_body(receive, self._settings.max_body_bytes)
        if body is None:
            # The rest of the body is of no use to anybody.
            await send_answer(send, 413, extra=[(b"connection", b"close")])
            return
        execute = partial(self._executor.execute, left=partial(wait_for_leave, receive))
        reply = await jsonrpc.answer(body, user, self._settings.whitelist, execute)
        if reply.body is None:
            await send_answer(send, reply.status)
        else:
            await send_answer(send, reply.status, reply.body, b"application/json")
