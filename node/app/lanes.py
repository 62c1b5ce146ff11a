"""`clarion events lanes`: the lanes of a running node, for its operator.

Owns: the command's words, its table, and asking `/v1/lanes` of the node's own port. Never: what lanes do.
"""

import base64
import http.client
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from clarion.node.config import Config
from clarion.node.errors import ConfigError

LANES_USAGE = (
    "clarion events lanes takes nothing, or: pause LANE, resume LANE, reset LANE FROM, deadletters LANE, "
    "replay LANE ID|all, drop LANE ID|all"
)
_TIMEOUT_S = 60.0
_WORDS = {"pause": (), "resume": (), "reset": ("from",), "deadletters": (), "replay": ("id",), "drop": ("id",)}
_COLUMNS = ("name", "state", "lag_events", "lag_seconds", "sent", "failed", "retried", "dead_letters", "last_error")
_ERROR_CHARACTERS = 60


def run_lanes(config: Config, words: Sequence[str]) -> int:
    """Print all lanes as a table (JSON where the output is no terminal), or do something with one. Raises ConfigError."""
    if not words:
        lanes = _request(config, "GET", None)
        sys.stdout.write(table(lanes) if sys.stdout.isatty() else _as_json(lanes))
        return 0
    action, names = words[0], ("lane", *_WORDS.get(words[0], ()))
    if action not in _WORDS or len(words) != len(names) + 1:
        raise ConfigError(LANES_USAGE)
    answer = _request(config, "POST", {"action": action, **dict(zip(names, words[1:], strict=True))})
    sys.stdout.write(_as_json(answer))
    return 0


def table(lanes: Sequence[Mapping[str, Any]]) -> str:
    """Return the lanes as lines of equal columns."""
    rows = [_COLUMNS, *(tuple(str(lane[name])[:_ERROR_CHARACTERS] for name in _COLUMNS) for lane in lanes)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def authorization(config: Config) -> dict[str, str]:
    """Return the header by which the node knows its operator. Raises ConfigError, OSError where there is no cookie."""
    if config.rpc_password:
        credentials = f"{config.rpc_user}:{config.rpc_password}"
    elif config.rpc_cookie_file is None:
        raise ConfigError("there is no cookie file and no -rpcpassword")
    else:
        credentials = config.rpc_cookie_file.read_text()
    return {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}


def _request(config: Config, method: str, fields: Mapping[str, str] | None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", config.rpc_port, timeout=_TIMEOUT_S)
    try:
        body = None if fields is None else json.dumps(fields)
        connection.request(method, "/v1/lanes", body, authorization(config))
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ConfigError(f"Could not ask the node at port {config.rpc_port}: {error}") from None
    finally:
        connection.close()
    if answer.status in (400, 503) and text:
        raise ConfigError(str(json.loads(text)["error"]))
    if answer.status != 200:
        raise ConfigError(f"the node answers with status {answer.status}")
    return json.loads(text)


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
