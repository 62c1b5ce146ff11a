"""REST below `/rest/`: unauthenticated reads, as in Bitcoin Core.

Owns: which prefix leads to which answer, and warm-up. Never: the answers.
"""

from clarion.api.asgi import CORE_METHODS, Receive, Scope, Send, read_body, send_answer
from clarion.api.executor import Executor
from clarion.api.rest import blocks, chain, filters, transactions, utxos
from clarion.api.rest.request import RestAnswer, RestError, RestRequest, parse_request
from clarion.api.rest.route import RestRoute
from clarion.api.rpc.errors import RpcCode
from clarion.node.errors import RpcError

# The order matters: the first prefix that fits answers.
ROUTES: tuple[RestRoute, ...] = (
    *blocks.ROUTES,
    *chain.ROUTES,
    *transactions.ROUTES,
    *utxos.ROUTES,
    *filters.ROUTES,
)


class RestEndpoint:
    """An ASGI application for every path below `/rest/`. The path counts as it was sent, without decoding."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._max_body_bytes = executor.context.settings.max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in CORE_METHODS:
            await send_answer(send, 405)
            return
        path = bytes(scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        path = path.partition("?")[0]
        for route in ROUTES:
            if path.startswith(route.prefix):
                query = scope["query_string"].decode("latin-1")
                body = await read_body(receive, self._max_body_bytes) if route.has_body else b""
                if body is None:
                    await send_answer(send, 413)
                    return
                answer = await self._answer(route, parse_request(path[len(route.prefix) :], query, body))
                await send_answer(send, answer.status, answer.body, answer.content_type)
                return
        await send_answer(send, 404)

    async def _answer(self, route: RestRoute, request: RestRequest) -> RestAnswer:
        try:
            await self._executor.check_ready()
        except RpcError as error:
            return RestError(503, f"Service temporarily unavailable: {error.message}").answer
        try:
            context = self._executor.context
            if route.heavy(request):
                return await self._executor.run_in_thread(route.handler, context, request)  # type: ignore[no-any-return]
            return route.handler(context, request)
        except RestError as error:
            return error.answer
        except RpcError as error:
            # The reference lets errors of RPC code reach the HTTP server: a plain 500 with the text.
            return RestError(503 if error.code == RpcCode.CLIENT_NOT_CONNECTED else 500, error.message).answer
