"""Who may use Clarion's own paths: whoever may use RPC, unless a whitelist leaves out the path's word.

Owns: the check, and its refusal. Never: other answers.
"""

import asyncio
import logging
from enum import Enum

from clarion.api.asgi import CHALLENGE, Scope, Send, header, send_answer
from clarion.api.auth import Authenticator
from clarion.api.rpc_endpoint import WRONG_PASSWORD_DELAY_S
from clarion.api.settings import ApiSettings

_log = logging.getLogger("clarion.rpc")

WHITELIST_NAME = "events"
"""The word that -rpcwhitelist=<user>:events allows the event stream by."""


class Access(Enum):
    """What a request may do; the values are HTTP's statuses."""

    GRANTED = 200
    UNKNOWN = 401
    FORBIDDEN = 403


class AccessCheck:
    """Checks requests of one process for the path that `word` stands for in -rpcwhitelist."""

    def __init__(self, settings: ApiSettings, word: str = WHITELIST_NAME) -> None:
        self._word = word
        self._authenticator = Authenticator(settings.credentials)
        self._whitelist = settings.whitelist

    async def check(self, scope: Scope) -> Access:
        """Return whether the request may be answered. A wrong password is answered late, as RPC does."""
        authorization = header(scope, b"authorization")
        if authorization is None:
            return Access.UNKNOWN
        user = self._authenticator.user_of(authorization)
        if user is None:
            _log.warning("incorrect password attempt for %s from %s", self._word, (scope.get("client") or "?")[0])
            await asyncio.sleep(WRONG_PASSWORD_DELAY_S)
            return Access.UNKNOWN
        methods = self._whitelist.methods_of(user)
        return Access.GRANTED if methods is None or self._word in methods else Access.FORBIDDEN

    async def admit(self, scope: Scope, send: Send) -> bool:
        """Whether the request may be answered; else it has been refused."""
        access = await self.check(scope)
        if access is not Access.GRANTED:
            await send_answer(send, access.value, extra=CHALLENGE if access is Access.UNKNOWN else None)
        return access is Access.GRANTED
