"""RPC methods about the lanes of delivery: how they do, pausing, resuming, and what they gave up.

Owns: their declarations and errors. Never: delivering (notifiers.lanes).
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError, StreamError

_NAME = Arg("lane", ArgType.STR, "Its name, as listlanes shows it", required=True)
_WHICH = Arg("id", ArgType.STR, 'The identity of one event, or "all"', required=True)
_LANE = Result(
    ResultType.OBJ,
    "",
    "",
    (
        Result(ResultType.STR, "name", "Name of the lane"),
        Result(ResultType.STR, "type", '"delivery" for -notify, "rows" for sockets and plugins'),
        Result(ResultType.ARR, "addresses", "", (Result(ResultType.STR, "", "where it delivers to"),)),
        Result(ResultType.STR, "state", "running, retrying, paused or stopped"),
        Result(ResultType.STR, "cursor", "How far it has come, for lanes that store it", optional=True),
        Result(ResultType.NUM, "seq", "The last row of the event log of which it has told everything"),
        Result(ResultType.NUM, "lag_events", "Events behind that, before any filter"),
        Result(ResultType.NUM, "lag_seconds", "Age of the oldest of them"),
        Result(ResultType.NUM, "queued", "Messages that it holds in memory"),
        Result(ResultType.NUM, "sent", "Messages (rows) that were confirmed since the start"),
        Result(ResultType.NUM, "failed", "Attempts in vain since the start"),
        Result(ResultType.NUM, "retried", "Attempts that followed one in vain since the start"),
        Result(ResultType.NUM, "dead_letters", "Messages that it gave up and keeps"),
        Result(ResultType.NUM_TIME, "last_sent_time", "When a message was confirmed last", optional=True),
        Result(ResultType.STR, "last_error", "Why it stands still, or the error of the last attempt in vain"),
        Result(ResultType.NUM, "next_try_in", "Seconds until the next attempt, while it waits for one", optional=True),
    ),
)
_COUNT = Result(ResultType.OBJ, "", "", (Result(ResultType.NUM, "letters", "How many messages are concerned"),))
_SHELL, _JSON = '"redis://127.0.0.1:6379/0"', '"redis://127.0.0.1:6379/0"'


def ask(ctx: NodeContext, action: str, lane: str = "", argument: str = "") -> Any:
    """Ask the lanes, wherever they run. Raises RpcError: -8 for what makes no sense, -1 where they do not answer."""
    try:
        return ctx.events.ask_lanes(action, lane, argument)
    except StreamError as error:
        code = RpcCode.MISC_ERROR if error.code == "unavailable" else RpcCode.INVALID_PARAMETER
        raise RpcError(code, str(error)) from None


@rpc_method(
    "listlanes",
    category="control",
    where=NODE,
    description="Returns every lane of event delivery with its state and counters.",
    results=Result(ResultType.ARR, "", "", (_LANE,)),
)
def listlanes(ctx: NodeContext) -> Any:
    """Return all lanes."""
    return ask(ctx, "list")


@rpc_method(
    "pauselane",
    category="control",
    where=NODE,
    description="Has a lane deliver nothing more until resumelane. The event log keeps what waits; a lane of -notify stays "
    "paused over restarts.",
    args=[_NAME],
    results=_LANE,
    examples=((_SHELL, _JSON),),
)
def pauselane(ctx: NodeContext, lane: str) -> Any:
    """Pause a lane and return its state."""
    return ask(ctx, "pause", lane)


@rpc_method(
    "resumelane",
    category="control",
    where=NODE,
    description="Has a lane go on at once: after a pause, after it stopped by itself, or while it waits for its next attempt.",
    args=[_NAME],
    results=_LANE,
    examples=((_SHELL, _JSON),),
)
def resumelane(ctx: NodeContext, lane: str) -> Any:
    """Resume a lane and return its state."""
    return ask(ctx, "resume", lane)


@rpc_method(
    "resetlane",
    category="control",
    where=NODE,
    description="Has a lane go on from another place of the event log, forward or back.",
    args=[_NAME, Arg("from", ArgType.STR, "now, start, height:N or a cursor", required=True)],
    results=_LANE,
    examples=((f'{_SHELL} "height:800000"', f'{_JSON}, "height:800000"'),),
)
def resetlane(ctx: NodeContext, lane: str, start: str) -> Any:
    """Move a lane and return its state."""
    return ask(ctx, "reset", lane, start)


@rpc_method(
    "listdeadletters",
    category="control",
    where=NODE,
    description="Returns the messages that a lane gave up, the oldest first, at most 1000.",
    args=[_NAME],
    results=Result(
        ResultType.ARR,
        "",
        "",
        (
            Result(
                ResultType.OBJ,
                "",
                "",
                (
                    Result(ResultType.STR, "id", "The event's identity"),
                    Result(ResultType.STR, "type", "The event's type"),
                    Result(ResultType.NUM_TIME, "time", "When the event was logged"),
                    Result(ResultType.STR, "cursor", "The event's cursor"),
                    Result(ResultType.NUM, "attempts", "How often it was tried"),
                    Result(ResultType.STR, "error", "How the last attempt ended"),
                    Result(ResultType.NUM_TIME, "failed_time", "When that was"),
                ),
            ),
        ),
    ),
    examples=((_SHELL, _JSON),),
)
def listdeadletters(ctx: NodeContext, lane: str) -> Any:
    """Return what a lane gave up."""
    return ask(ctx, "letters", lane)


@rpc_method(
    "replaydeadletters",
    category="control",
    where=NODE,
    description="Has a lane deliver messages that it gave up once more. Those that arrive are no longer listed.",
    args=[_NAME, _WHICH],
    results=_COUNT,
    examples=((f'{_SHELL} "all"', f'{_JSON}, "all"'),),
)
def replaydeadletters(ctx: NodeContext, lane: str, letter: str) -> Any:
    """Queue dead letters for another attempt."""
    return ask(ctx, "replay", lane, letter)


@rpc_method(
    "dropdeadletters",
    category="control",
    where=NODE,
    description="Forgets messages that a lane gave up.",
    args=[_NAME, _WHICH],
    results=_COUNT,
    examples=((f'{_SHELL} "all"', f'{_JSON}, "all"'),),
)
def dropdeadletters(ctx: NodeContext, lane: str, letter: str) -> Any:
    """Forget dead letters."""
    return ask(ctx, "drop", lane, letter)
