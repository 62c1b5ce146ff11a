"""Turns the texts of a command line into the params of an RPC call: which are texts, and which are JSON.

Owns: this conversion, positional and named, by the table of the methods' arguments. Never: the call, the methods.
"""

import json
from collections.abc import Sequence
from typing import Any

from clarion.node.rpc_arguments import ARGUMENTS


class UnreadableArgument(Exception):
    """An argument that must be JSON and is not."""


def _text_arguments(method: str) -> tuple[list[bool], dict[str, bool]]:
    """Return, by position and by name, whether an argument of `method` is a text that is not parsed as JSON."""
    by_position: list[bool] = []
    by_name: dict[str, bool] = {}
    for argument in ARGUMENTS.get(method, "").split():
        # The two echoes are declared alike; that this one parses its arguments is the client's affair.
        is_text = not argument.endswith("!") and method != "echojson"
        if not argument.startswith("."):
            by_position.append(is_text)
        for name in argument.strip(".!").split("|"):
            by_name[name] = is_text
    return by_position, by_name


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UnreadableArgument(f"Error parsing JSON: {text}") from None


def _guess(text: str) -> Any:
    """Return what an argument of a method that only a plugin of the node knows means: lists and objects are JSON."""
    try:
        return json.loads(text) if text[:1] in ("{", "[") else text
    except ValueError:
        return text


def convert_positional(method: str, texts: Sequence[str]) -> list[Any]:
    """Return the params of a call; texts stay as they are, other arguments are JSON. Unknown ones are texts."""
    if method not in ARGUMENTS:
        return [_guess(text) for text in texts]
    positions, _ = _text_arguments(method)
    return [text if i >= len(positions) or positions[i] else _parse_json(text) for i, text in enumerate(texts)]


def convert_named(method: str, texts: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the params of a call with `-named`: name=value pairs, and `args` for what has no name."""
    positions, names = _text_arguments(method)
    guessed = method not in ARGUMENTS
    params: dict[str, Any] = {}
    args: list[Any] = []

    def is_text(position: int) -> bool:
        return position >= len(positions) or positions[position]

    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name not in names and name != "args" and len(args) < len(positions):
            # A JSON value or a text may hold an equals sign too, where no argument has such a name.
            if is_text(len(args)):
                args.append(text)
                continue
            try:
                args.append(json.loads(text))
                continue
            except ValueError:
                pass
        if not equals:
            args.append(text if is_text(len(args)) else _parse_json(text))
        else:
            is_plain = names.get(name, True)
            params[name] = _guess(value) if guessed else value if is_plain else _parse_json(value)
    return [*params.items(), *([("args", args)] if args else [])]
