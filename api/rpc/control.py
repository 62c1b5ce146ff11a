"""RPC methods about the server itself: help, stop, uptime, getrpcinfo, echo.

Owns: their answers. Never: shutting down (the node does), the chain.
"""

import time
from collections.abc import Sequence
from typing import Any

from clarion.api.rpc import help as help_text
from clarion.api.rpc import registry
from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType

STOPPING = "Clarion stopping"


@rpc_method(
    "help",
    category="control",
    where=READER,
    description="Lists all methods, or explains one.",
    args=[Arg("command", ArgType.STR, "The method to explain", hint="all commands")],
    results=Result(ResultType.STR, "", "The help text"),
    examples=(),
)
def help_method(ctx: ReaderContext, command: str | None) -> Any:
    """Return the help text of one method or the list of all."""
    if command == "dump_all_command_conversions":
        return registry.argument_map()
    if not command:
        return help_text.overview(list(registry.public_methods()))
    method = registry.find(command)
    return f"help: unknown command: {command}" if method is None else help_text.method_help(method)


@rpc_method(
    "stop",
    category="control",
    where=NODE,
    description="Asks Clarion to shut down in good order.",
    args=[Arg("wait", ArgType.NUM, "Milliseconds to wait before the answer", hidden=True)],
    results=Result(ResultType.STR, "", f"The text '{STOPPING}'"),
    examples=(),
)
def stop(ctx: NodeContext, wait: int | None) -> str:
    """Ask the node to stop; the answer still reaches the client, because open requests are finished first."""
    ctx.request_stop()
    if wait:
        time.sleep(wait / 1000)
    return STOPPING


@rpc_method(
    "uptime",
    category="control",
    where=NODE,
    description="Returns how long the node has been running.",
    results=Result(ResultType.NUM, "", "Seconds since the start"),
)
def uptime(ctx: NodeContext) -> int:
    """Return whole seconds since the start; a mocked clock does not change them."""
    return int(time.monotonic() - ctx.started_at)


@rpc_method(
    "getrpcinfo",
    category="control",
    where=READER,
    description="Returns details of the RPC server.",
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(
                ResultType.ARR,
                "active_commands",
                "The calls that run now",
                (
                    Result(
                        ResultType.OBJ,
                        "",
                        "",
                        (
                            Result(ResultType.STR, "method", "Name of the method"),
                            Result(ResultType.NUM, "duration", "Microseconds since the call began"),
                        ),
                    ),
                ),
            ),
            Result(ResultType.STR, "logpath", "Path of the debug log"),
        ),
    ),
)
def getrpcinfo(ctx: ReaderContext) -> dict[str, Any]:
    """Return the calls that run in this API process, and where the log is."""
    now = time.monotonic()
    commands = [{"method": name, "duration": int((now - started) * 1_000_000)} for name, started in ctx.active.values()]
    return {"active_commands": commands, "logpath": str(ctx.settings.log_path)}


_ECHO_ARGS = [Arg(f"arg{i}", ArgType.STR, unchecked=True) for i in range(10)]


def _echo(ctx: ReaderContext, params: Sequence[Any]) -> Sequence[Any]:
    if len(params) > 9 and params[9] == "trigger_internal_bug":
        raise AssertionError('Internal bug detected: request.params[9].get_str() != "trigger_internal_bug"')
    return params


_ECHO_TEXT = "Returns the arguments. For tests of clients."

rpc_method(
    "echo",
    category="hidden",
    where=READER,
    description=_ECHO_TEXT,
    args=_ECHO_ARGS,
    results=Result(ResultType.ANY),
    examples=(),
    variadic=True,
)(_echo)

rpc_method(
    "echojson",
    category="hidden",
    where=READER,
    description=_ECHO_TEXT + " A command line parses the arguments as JSON.",
    args=_ECHO_ARGS,
    results=Result(ResultType.ANY),
    examples=(),
    variadic=True,
)(_echo)


@rpc_method(
    "echoipc",
    category="hidden",
    where=NODE,
    description="Returns the argument after a visit to the node's process. For tests of clients.",
    args=[Arg("arg", ArgType.STR, "The text", required=True)],
    results=Result(ResultType.STR, "", "The text"),
    examples=(('"Hello world"', '"Hello world"'),),
)
def echoipc(ctx: NodeContext, arg: str) -> str:
    """Return the argument."""
    return arg
