"""`clarion events watch …`: watches of a running node, from the command line.

Owns: words to requests of /v1/watches, and printing the answers as JSON. Never: what watches are.
"""

import http.client
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from clarion.node.app.lanes import authorization
from clarion.node.config import Config
from clarion.node.errors import ConfigError
from clarion.node.primitives.descriptor_range import split_descriptors

WATCH_USAGE = (
    "clarion events watch needs one of: list, show NAME, history NAME [after=PLACE] [count=N], remove NAME, "
    "rescan NAME start=HEIGHT, add NAME FIELD=…, extend NAME FIELD=…; fields are addresses, scripts, descriptors "
    "(words with commas between them), range=END or range=BEGIN-END and gap=N for the descriptors, and start=HEIGHT"
)
_PATH = "/v1/watches"
_TIMEOUT_S = 600.0
_LISTS = ("addresses", "scripts")


def run_watch(config: Config, words: Sequence[str]) -> int:
    """Do what the words say and print the answer. Raises ConfigError with the node's reason if it refuses."""
    action, name = words[0] if words else "", words[1] if len(words) > 1 else ""
    fields = _fields(words[2:])
    path = f"{_PATH}/{quote(name, safe='')}"
    if action == "list" and not name:
        answer = _ask(config, "GET", _PATH)
    elif not name:
        raise ConfigError(WATCH_USAGE)
    elif action in ("show", "remove"):
        answer = _ask(config, "GET" if action == "show" else "DELETE", path)
    elif action == "history":
        answer = _ask(config, "GET", f"{path}/history?{urlencode(fields)}")
    elif action == "rescan":
        answer = _ask(config, "POST", f"{path}/rescan", {"start": _number(fields.get("start", ""))})
    elif action == "add":
        answer = _ask(config, "POST", _PATH, {"name": name, **_definition(fields)})
    elif action == "extend":
        answer = _ask(config, "POST", f"{path}/scripts", _definition(fields))
    else:
        raise ConfigError(WATCH_USAGE)
    sys.stdout.write(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode() + "\n")
    return 0


def _fields(words: Sequence[str]) -> dict[str, str]:
    fields = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(WATCH_USAGE)
        fields[name] = value
    return fields


def _definition(fields: dict[str, str]) -> dict[str, Any]:
    definition: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _LISTS:
            definition[name] = value.split(",")
        elif name == "descriptors":
            definition[name] = split_descriptors(value)
        elif name == "start":
            definition[name] = _number(value)
        elif name == "gap":
            extras[name] = _number(value)
        elif name == "range":
            begin, dash, end = value.partition("-")
            extras[name] = [_number(begin), _number(end)] if dash else _number(begin)
        else:
            raise ConfigError(WATCH_USAGE)
    if extras:
        definition["descriptors"] = [{"desc": each, **extras} for each in definition.get("descriptors", [])]
    return definition


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ConfigError(f"a number expected, not '{text}'; {WATCH_USAGE}")
    return int(text)


def _ask(config: Config, method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", config.rpc_port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, path, None if body is None else orjson.dumps(body), authorization(config))
        reply = connection.getresponse()
        text = reply.read()
    except (OSError, http.client.HTTPException) as error:
        raise ConfigError(f"Could not reach the node at port {config.rpc_port}: {error}") from None
    finally:
        connection.close()
    if reply.status == 200:
        return orjson.loads(text)
    raise ConfigError(_reason(reply.status, text))


def _reason(status: int, text: bytes) -> str:
    try:
        return str(orjson.loads(text)["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        hint = "; the node keeps watches with -watches" if status == 404 else ""
        return f"the node answers with status {status}{hint}"
