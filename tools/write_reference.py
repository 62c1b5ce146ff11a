"""Write what follows from the code: docs/configuration.md, docs/rpc.md and the command line's table of arguments.

python tools/write_reference.py           write them
python tools/write_reference.py --check   exit 1 when one is out of date
"""

import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from clarion.api.rpc import registry
from clarion.api.rpc.help import method_help
from clarion.api.rpc.node_methods import load_methods
from clarion.api.rpc.spec import ArgType
from clarion.node.options.option import Category, Effect, Kind, Option
from clarion.node.options.table import OptionTable

ROOT = Path(__file__).resolve().parents[1]
LINE_LENGTH = 120

CONFIGURATION_HEAD = """\
# Configuration

Written by `tools/write_reference.py` from the table of options; do not edit.

An option stands on the command line with one dash or two (`-rest`, `--rest=1`), in `bitcoin.conf` in the data directory
without dashes (`rest=1`), or in the environment (`CLARION_REST=1`). The command line wins over the environment, the
environment over the file. In the file, a section such as `[regtest]` holds for that network only; options marked
*network* count for mainnet only unless they stand in a section or on the command line. `includeconf=FILE` reads another
file. `-noNAME` means `-NAME=0`, or none for an option that takes text. Options marked *repeat* may be given several
times. An unknown option is an error that names the nearest one.
"""

INERT_HEAD = """\
## Accepted without effect

Options of Bitcoin Core's wallet, window and IPC mean nothing to Clarion. They are accepted with one warning line, so that
existing files and scripts work:
"""

LATER_HEAD = """\
## Accepted, without effect yet

Options of capabilities that this version does not have. They are read and checked, and do nothing:
"""

RPC_HEAD = """\
# RPC methods

Written by `tools/write_reference.py` from the methods' declarations; do not edit. The text of each method is what
`clarion-cli help NAME` shows. REST paths are in [rest.md](rest.md).

JSON-RPC is served on `/` and `/wallet/<name>` of the RPC port (8332, 18332, 48332, 38332, 18443 by network), with the
cookie in the data directory or with `-rpcuser`/`-rpcauth`. Answers, error codes and messages are Bitcoin Core 31's.

The same port serves `/openapi.json`: each method's call and result, REST's paths and the event stream as JSON Schemas
(OpenAPI 3.1), and `/docs` shows them in a browser.
"""

ARGUMENTS_HEAD = '''\
"""The names of the arguments of each RPC method, by position; written by tools/write_reference.py, do not edit.

Owns: what the command line must know of the methods without loading them. Never: anything that is not declared with them.
`|` stands between the names of one argument, `!` after one that is JSON rather than a text; one that begins with a dot is
a member of the object before it, which can be named like an argument.
"""

ARGUMENTS = {
'''


def _marks(option: Option) -> str:
    marks = [
        name
        for name, on in (
            ("repeat", option.multiple),
            ("network", option.network_only),
            ("no `-no…`", not option.negatable),
        )
        if on
    ]
    return ", ".join(marks)


def _row(option: Option) -> str:
    argument = option.argument or {Kind.FLAG: "", Kind.NUMBER: "=<n>"}.get(option.kind, "=…")
    cells = [f"`-{option.name}{argument}`", option.help, option.default, _marks(option)]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _table(options: list[Option]) -> str:
    rows = [_row(option) for option in sorted(options, key=lambda option: option.name)]
    return "\n".join(["| option | what | default | |", "|---|---|---|---|", *rows]) + "\n"


def _names(options: list[Option]) -> str:
    return " ".join(f"`-{option.name}`" for option in sorted(options, key=lambda option: option.name)) + "\n"


def configuration_page() -> str:
    """Return the text of docs/configuration.md."""
    options = list(OptionTable())
    parts = [CONFIGURATION_HEAD]
    for category in Category:
        active = [o for o in options if o.category is category and o.effect is Effect.ACTIVE]
        if active:
            parts.append(f"## {category.value}\n\n{_table(active)}")
    parts.append(f"{LATER_HEAD}\n{_names([o for o in options if o.effect is Effect.LATER])}")
    parts.append(f"{INERT_HEAD}\n{_names([o for o in options if o.effect is Effect.INERT])}")
    return "\n".join(parts)


def _methods_by_category() -> Iterator[tuple[str, list[registry.Method]]]:
    load_methods()
    ordered = sorted(registry.public_methods(), key=lambda method: (method.category, method.name))
    for category, group in groupby(ordered, key=lambda method: method.category):
        yield category, list(group)


def rpc_page() -> str:
    """Return the text of docs/rpc.md."""
    parts = [RPC_HEAD]
    for category, group in _methods_by_category():
        parts.append(f"## {category.capitalize()}\n")
        parts += [f"### {method.name}\n\n```text\n{method_help(method).strip()}\n```\n" for method in group]
    return "\n".join(parts)


def _arguments(method: registry.Method) -> str:
    words: list[str] = []
    for arg in method.args:
        words.append(arg.names + ("" if arg.type.is_text else "!"))
        if arg.type is ArgType.OBJ_NAMED_PARAMS:
            words += [f".{inner.names}" + ("" if inner.type.is_text else "!") for inner in arg.inner]
    return " ".join(words)


def _argument_lines(method: registry.Method) -> str:
    line = f'    "{method.name}": "{_arguments(method)}",\n'
    if len(line) <= LINE_LENGTH:
        return line
    wrapped = textwrap.wrap(_arguments(method), LINE_LENGTH - 12)
    texts = "".join(f'        "{text}{" " if text is not wrapped[-1] else ""}"\n' for text in wrapped)
    return f'    "{method.name}": (\n{texts}    ),\n'


def arguments_module() -> str:
    """Return the text of node/rpc_arguments.py."""
    load_methods()
    methods = sorted(registry.public_methods(), key=lambda method: method.name)
    return ARGUMENTS_HEAD + "".join(_argument_lines(method) for method in methods) + "}\n"


def pages() -> dict[Path, str]:
    """Return the text of every generated file by its path."""
    return {
        ROOT / "docs" / "configuration.md": configuration_page(),
        ROOT / "docs" / "rpc.md": rpc_page(),
        ROOT / "node" / "rpc_arguments.py": arguments_module(),
    }


def outdated() -> list[str]:
    """Return the names of the files whose text is not what it should be."""
    return [
        str(path.relative_to(ROOT)) for path, text in pages().items() if not path.exists() or path.read_text() != text
    ]


def main() -> int:
    """Write or check the pages."""
    if "--check" in sys.argv[1:]:
        late = outdated()
        print("\n".join(f"{name} is out of date" for name in late) or "what is generated is up to date")
        return 1 if late else 0
    for path, text in pages().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
