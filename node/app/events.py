"""`clarion events tail|replay`: the event stream of a running node on standard output, one JSON message a line.

Owns: reading the stream from the node's own port and going on where it broke off. Never: the node's databases, lanes
(`node.app.lanes`), watches (`node.app.watches`).
"""

import http.client
import sys
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

import orjson

from clarion.node.app.lanes import authorization, run_lanes
from clarion.node.app.watches import run_watch
from clarion.node.config import Config
from clarion.node.errors import ConfigError

EVENTS_USAGE = (
    "clarion events needs: tail or replay, then fields such as from=height:100 types=tx_confirmed,block_connected; or "
    "lanes; or watch"
)
_PAUSE_S = 1.0
_SILENCE_S = 60.0


def run_events(config: Config, words: Sequence[str]) -> int:
    """Print messages: for ever (`tail`), or up to the log's present end (`replay`). Raises ConfigError."""
    action = words[0] if words else ""
    if action == "lanes":
        return run_lanes(config, words[1:])
    if action == "watch":
        return run_watch(config, words[1:])
    if action not in ("tail", "replay"):
        raise ConfigError(EVENTS_USAGE)
    fields = _fields(words[1:])
    fields.setdefault("from", "now" if action == "tail" else "start")
    while True:
        try:
            for cursor, data in _messages(config, fields):
                fields["from"] = cursor
                kind = orjson.loads(data)["type"]
                if kind == "live" and action == "replay":
                    return 0
                if kind == "error":
                    raise ConfigError(data)
                if kind != "live":
                    sys.stdout.write(data + "\n")
            sys.stdout.flush()
        except (OSError, http.client.HTTPException) as error:
            if action == "replay":
                raise ConfigError(f"Could not read events from the node at port {config.rpc_port}: {error}") from None
        time.sleep(_PAUSE_S)


def _fields(words: Sequence[str]) -> dict[str, str]:
    fields = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(EVENTS_USAGE)
        fields[name] = value
    return fields


def _messages(config: Config, fields: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (cursor, JSON) of one connection's messages. Raises ConfigError for a refusal, OSError, HTTPException."""
    connection = http.client.HTTPConnection("127.0.0.1", config.rpc_port, timeout=_SILENCE_S)
    try:
        connection.request("GET", f"/v1/events?{urlencode(fields)}", headers=authorization(config))
        answer = connection.getresponse()
        if answer.status == 503:
            raise OSError("the node is not ready")
        if answer.status != 200:
            raise ConfigError(answer.read().decode(errors="replace") or f"the node answers with status {answer.status}")
        cursor = ""
        for line in answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                cursor = value
            elif name == "data":
                yield cursor, value
                sys.stdout.flush()
    finally:
        connection.close()
