"""The API's question for news in the event log.

Owns: its answer. Never: waiting (see `node.chain.tip_watch`), reading the log, which API processes do themselves.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.waiting import Waiting

PATIENCE_S = 600.0


@rpc_method(
    "_wait_events",
    category="hidden",
    where=NODE,
    internal=True,
    waits=True,
    description="Waits until the log has rows above a number, durably.",
    args=[Arg("seq", ArgType.NUM, "The number", required=True)],
    results=Result(ResultType.NONE),
)
def wait_events(ctx: NodeContext, seq: int) -> Waiting:
    """Return the number of the last row then, and whether the node stops: one question of each process for all streams."""
    chain, watch = ctx.stores.chain, ctx.chain.manager.journal.log_watch
    ready = watch.when(lambda: chain.last_seq > seq, PATIENCE_S)

    def answer() -> dict[str, Any]:
        return {"seq": chain.last_seq, "stopping": watch.stopped}

    return Waiting(ready, answer)
