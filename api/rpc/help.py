"""Help texts in the reference's layout, made from what the methods declare.

Owns: the layout (one-line summary, arguments, results, examples). Never: the words about a method.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType

if TYPE_CHECKING:
    from clarion.api.rpc.registry import Method

_CURL = (
    '> curl --user myusername --data-binary \'{{"jsonrpc": "2.0", "id": "curltest", '
    '"method": "{}", "params": [{}]}}\' -H \'content-type: application/json\' http://127.0.0.1:8332/\n'
)


class _Sections:
    """Lines of a left and a right column, padded together."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str]] = []
        self._width = 0

    def add(self, left: str, right: str = "") -> None:
        self._lines.append((left, right))
        self._width = max(self._width, len(left))

    def drop_last_comma(self) -> None:
        left, right = self._lines[-1]
        self._lines[-1] = (left.removesuffix(","), right)

    def render(self) -> str:
        pad = self._width + 4
        text = []
        for left, right in self._lines:
            body = f"\n{' ' * pad}".join(part.strip() if i else part for i, part in enumerate(right.split("\n")))
            text.append(f"{left:<{pad}}{body}\n" if right else f"{left}\n")
        return "".join(text)


def _describe_arg(arg: Arg, *, named: bool) -> str:
    text = arg.type_label or arg.type.label
    if arg.required:
        text += ", required"
    elif arg.hint:
        text += f", optional, default={arg.hint}"
    elif arg.default is not None:
        text += f", optional, default={json.dumps(arg.default)}"
    elif named:
        text += ", optional"
    return f"({text}) {arg.description}".rstrip()


def _short(arg: Arg, *, member: bool = False) -> str:
    """Return the argument as the one-line summary shows it; `member` adds the key of an object's member."""
    if not member and arg.oneline:
        return arg.oneline
    key = f'"{arg.name}":' if member else ""
    if arg.type.is_text:
        value = ('"hex"' if arg.type is ArgType.STR_HEX else '"str"') if member else f'"{arg.name}"'
    elif arg.type is ArgType.ARR:
        value = "[" + "".join(_short(inner) + "," for inner in arg.inner) + "...]"
    elif arg.type in (ArgType.OBJ, ArgType.OBJ_NAMED_PARAMS, ArgType.OBJ_USER_KEYS):
        more = "" if arg.type is ArgType.OBJ else ",..."
        value = "{" + ",".join(_short(inner, member=True) for inner in arg.inner) + more + "}"
    elif member:
        value = {ArgType.NUM: "n", ArgType.RANGE: "n or [n,n]", ArgType.AMOUNT: "amount"}.get(arg.type, "bool")
    else:
        value = arg.name
    return key + value


def _push_arg(sections: _Sections, arg: Arg, indent: int = 5, *, outer: str = "") -> None:
    pad = " " * indent
    key = f'"{arg.name}": ' if outer == "object" else ""
    about = _describe_arg(arg, named=outer == "object") if outer else ""
    if arg.type is ArgType.ARR:
        opening, closing, kind = "[", "]", "array"
    elif arg.type in (ArgType.OBJ, ArgType.OBJ_USER_KEYS):
        opening, closing, kind = "{", "}", "object"
    else:
        if outer:
            value = _short(arg, member=True).split(":", 1)[1] if key else _short(arg)
            sections.add(f"{pad}{key}{value},", about)
        return
    sections.add(f"{pad}{key}{opening}", about)
    for inner in arg.inner:
        _push_arg(sections, inner, indent + 2, outer=kind)
    if arg.type is not ArgType.OBJ:
        sections.add(f"{pad}  ...")
    sections.add(f"{pad}{closing}" + ("," if outer else ""))


_LEAVES = {
    ResultType.STR: '"str"',
    ResultType.STR_HEX: '"hex"',
    ResultType.STR_AMOUNT: "n",
    ResultType.NUM: "n",
    ResultType.NUM_TIME: "xxx",
    ResultType.BOOL: "true|false",
    ResultType.NONE: "null",
    ResultType.ANY: "...",
}


def _push_result(sections: _Sections, result: Result, indent: int = 0, *, outer: str = "") -> None:
    pad = " " * indent
    comma = "," if outer else ""
    key = f'"{result.key}" : ' if outer == "object" else ""
    about = f"({result.type.label}{', optional' if result.optional else ''}) {result.description}".rstrip()
    leaf = _LEAVES.get(result.type)
    if leaf is not None:
        sections.add(f"{pad}{key}{leaf}{comma}", about)
        return
    array = result.type is ResultType.ARR
    if not result.inner:
        sections.add(f"{pad}{key}{'[]' if array else '{}'}{comma}", about)
        return
    sections.add(f"{pad}{key}{'[' if array else '{'}", about)
    for inner in result.inner:
        _push_result(sections, inner, indent + 2, outer="array" if array else "object")
    if result.type is ResultType.OBJ:
        sections.drop_last_comma()
    else:
        sections.add(f"{pad}  ...")
    sections.add(f"{pad}{']' if array else '}'}{comma}")


def usage(name: str, args: Sequence[Arg]) -> str:
    """Return the one-line summary: the name and the arguments, optional ones in round brackets."""
    text = name
    in_optional = False
    for arg in args:
        if arg.hidden:
            break
        if not arg.required and not in_optional:
            text += " ("
        elif arg.required and in_optional:
            text += " )"
        in_optional = not arg.required
        text += " " + _short(arg)
    return text + (" )" if in_optional else "")


def method_help(method: "Method") -> str:
    """Return the full help text of one method, ending in a newline."""
    text = f"{usage(method.name, method.args)}\n\n{method.description.strip()}\n"
    sections, named = _Sections(), _Sections()
    for number, arg in enumerate(method.args, 1):
        if arg.hidden:
            break
        sections.add(f"{number}. {arg.name}", _describe_arg(arg, named=True))
        _push_arg(sections, arg)
        if arg.type is ArgType.OBJ_NAMED_PARAMS:
            for inner in arg.inner:
                named.add(inner.name, _describe_arg(inner, named=True))
                _push_arg(named, inner)
    if arguments := sections.render():
        text += f"\nArguments:\n{arguments}"
    if options := named.render():
        text += f"\nNamed Arguments:\n{options}"
    for result in method.results:
        if result.type is ResultType.ANY:
            continue
        rows = _Sections()
        _push_result(rows, result)
        text += f"\nResult{f' ({result.condition})' if result.condition else ''}:\n{rows.render()}"
    if method.examples:
        text += "\nExamples:\n"
        for example in method.examples:
            text += f"> clarion-cli {method.name} {example[0]}\n" + _CURL.format(method.name, example[1])
    return text


def overview(methods: Sequence["Method"]) -> str:
    """Return the list of all visible methods by category, as `help` without an argument answers."""
    text = ""
    category = ""
    for method in sorted(methods, key=lambda m: (m.category, m.name)):
        if method.category == "hidden":
            continue
        if method.category != category:
            text += ("\n" if category else "") + f"== {method.category.capitalize()} ==\n"
            category = method.category
        text += usage(method.name, method.args) + "\n"
    return text.rstrip("\n")
