"""The table of RPC methods: what is declared once and used for calls, named arguments, help and the command line.

Owns: registration and the binding of a request's params to a method's arguments. Never: running a method.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from clarion.api.rpc import help as help_text
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.spec import Arg, ArgType, Result, json_type
from clarion.node.errors import RpcError

Params = list[Any] | dict[str, Any]


class Where(Enum):
    """Process that runs a method: READER in the API process on a database snapshot, NODE beside the chain."""

    READER = "reader"
    NODE = "node"


READER = Where.READER
NODE = Where.NODE


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC method. `handler` takes the context of its process and one value per argument (None where omitted).

    `heavy` methods run in a thread of the API process, so that small answers are not delayed; bytes that one returns are
    its result as JSON text. `internal` methods are the API's own questions to the node: clients can't call them. `waits`
    methods may take for ever: they are given up when the client leaves.
    """

    name: str
    category: str
    where: Where
    args: tuple[Arg, ...]
    results: tuple[Result, ...]
    description: str
    examples: tuple[tuple[str, str], ...]
    heavy: bool
    internal: bool
    variadic: bool
    handler: Callable[..., Any]
    waits: bool = False
    has_user_keys: bool = False
    """Whether an argument is an object whose keys the client chooses, so that a key may stand there twice."""


_TABLE: dict[str, Method] = {}
_OF_PLUGINS: set[str] = set()
_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def rpc_method(
    name: str,
    *,
    category: str,
    where: Where,
    description: str,
    args: Sequence[Arg] = (),
    results: Result | Sequence[Result] = (),
    examples: Sequence[tuple[str, str]] = (("", ""),),
    heavy: bool = False,
    internal: bool = False,
    variadic: bool = False,
    waits: bool = False,
) -> Callable[[_Handler], _Handler]:
    """Register the decorated function as RPC method `name`.

    `examples` are pairs of arguments for a shell and for JSON. A `variadic` handler gets the list of the arguments as
    they were sent instead of one value each. A name that is taken is an AssertionError.
    """

    def register(handler: _Handler) -> _Handler:
        assert name not in _TABLE, f"RPC method {name} is registered twice"
        _TABLE[name] = Method(
            name,
            category,
            where,
            tuple(args),
            (results,) if isinstance(results, Result) else tuple(results),
            description,
            tuple(examples),
            heavy,
            internal,
            variadic,
            handler,
            waits,
            any(arg.has_user_keys for arg in args),
        )
        return handler

    return register


def is_taken(name: str) -> bool:
    """Whether the program has a method of this name, whatever plugins have."""
    return name in _TABLE and name not in _OF_PLUGINS


def set_plugin_methods(methods: Iterable[Method]) -> None:
    """Put methods of plugins into the table, in place of those that an earlier call put there."""
    for name in _OF_PLUGINS:
        del _TABLE[name]
    _OF_PLUGINS.clear()
    for method in methods:
        assert method.name not in _TABLE, f"RPC method {method.name} is registered twice"
        _TABLE[method.name] = method
        _OF_PLUGINS.add(method.name)


def find(name: str) -> Method | None:
    """Return the method that clients may call under `name`."""
    method = _TABLE.get(name)
    return None if method is None or method.internal else method


def find_internal(name: str) -> Method | None:
    """Return the method `name`, the API's own questions to the node included."""
    return _TABLE.get(name)


def public_methods() -> Iterator[Method]:
    """Yield every method that clients may call, by name."""
    for name in sorted(_TABLE):
        if not _TABLE[name].internal:
            yield _TABLE[name]


def help_error(method: Method) -> RpcError:
    """Return the answer to a wrong number of arguments: code -1 with the help text."""
    return RpcError(RpcCode.MISC_ERROR, help_text.method_help(method))


def bind(method: Method, params: Params) -> list[Any]:
    """Return the values for the handler's arguments, declared defaults in place of omitted and null ones.

    Raises RpcError: -8 for unknown or doubled names, -1 with the help text for a wrong number, -3 for wrong types.
    """
    values = _positional(method, params) if isinstance(params, dict) else params
    required = max((i for i, arg in enumerate(method.args, 1) if arg.required), default=0)
    if not required <= len(values) <= len(method.args):
        raise help_error(method)
    _check_types(method, values)
    if method.variadic:
        return [values]
    bound = list(values) + [None] * (len(method.args) - len(values))
    return [arg.default if value is None else value for arg, value in zip(method.args, bound, strict=True)]


def _check_types(method: Method, values: list[Any]) -> None:
    wrong = {}
    for number, arg in enumerate(method.args, 1):
        value = values[number - 1] if number <= len(values) else None
        expected = arg.expected
        if expected is None or (value is None and not arg.required):
            continue
        given = json_type(value)
        if given != expected:
            wrong[f"Position {number} ({arg.names})"] = f"JSON value of type {given} is not of expected type {expected}"
    if wrong:
        raise RpcError(RpcCode.TYPE_ERROR, f"Wrong type passed:\n{json.dumps(wrong, indent=4)}")


def _taken(given: dict[str, Any], names: str) -> str | None:
    return next((name for name in names.split("|") if name in given), None)


def _slots(method: Method, given: dict[str, Any]) -> list[tuple[Arg, bool, Any]]:
    """Take the named values out of `given`: per argument whether it was given, and the value."""
    slots: list[tuple[Arg, bool, Any]] = []
    for arg in method.args:
        options: dict[str, Any] = {}
        if arg.type is ArgType.OBJ_NAMED_PARAMS:
            for inner in arg.inner:
                if (name := _taken(given, inner.names)) is not None:
                    options[name] = given.pop(name)
        name = _taken(given, arg.names)
        if name is not None and options:
            raise RpcError(
                RpcCode.INVALID_PARAMETER, f"Parameter {name} conflicts with parameter {next(iter(options))}"
            )
        if name is not None:
            slots.append((arg, True, given.pop(name)))
        else:
            slots.append((arg, bool(options), options or None))
    return slots


def _positional(method: Method, params: dict[str, Any]) -> list[Any]:
    """Turn named arguments into positional ones; `args` gives the leading ones (doc/JSON-RPC-interface.md)."""
    given = dict(params)
    slots = _slots(method, given)
    last = max((i for i, slot in enumerate(slots, 1) if slot[1]), default=0)
    values = [value for _, _, value in slots[:last]]
    leading = given.pop("args", None)
    if isinstance(leading, list):
        first = next((i for i, slot in enumerate(slots) if slot[1]), None)
        if first is not None and first < len(leading):
            raise RpcError(
                RpcCode.INVALID_PARAMETER,
                f"Parameter {slots[first][0].names} specified twice both as positional and named argument",
            )
        values = leading + values[len(leading) :]
    if given:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Unknown named parameter {next(iter(given))}")
    return values


def argument_map() -> list[list[Any]]:
    """Return [method, position, name, is text] of every argument, which client-side converters are checked against."""
    rows: list[list[Any]] = []
    for method in public_methods():
        for position, arg in enumerate(method.args):
            for name in arg.names.split("|"):
                rows.append([method.name, position, name, arg.type.is_text])
                if arg.type is ArgType.OBJ_NAMED_PARAMS:
                    rows += [
                        [method.name, position, inner_name, inner.type.is_text]
                        for inner in arg.inner
                        for inner_name in inner.names.split("|")
                    ]
    return rows
