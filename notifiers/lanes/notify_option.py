"""`-notify=<url>`: what one lane is asked to do.

Owns: how the URL is read. Never: connecting.
The address is the transport's; behind `?` stand the lane's settings, the fields of a stream (docs/events.md) and the
transport's own settings. Every name is checked, so a slip of the hand ends the start instead of losing a filter.
"""

import difflib
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from clarion.node.errors import ConfigError, StreamError
from clarion.node.params.chain_params import ChainParams
from clarion.notifiers.lanes.transport import NotifyUrl, Transport, TransportKind
from clarion.notifiers.stream.request import FIELDS, StreamRequest, parse_request

LANE_SETTINGS = frozenset(
    ("name", "filterfile", "encoding", "after_sync", "batch", "retry", "attempts", "timeout", "changed")
)
"""Settings that every lane has, whatever its transport."""

MAX_BATCH = 1000
_NAME = re.compile(r"[!-~]{1,200}", re.ASCII)
_CHANGED = ("continue", "rescan")


@dataclass(frozen=True, slots=True)
class Delivery:
    """One lane that the operator asked for: which events, where to, and how hard to try."""

    name: str
    target: str
    transport: Transport
    request: StreamRequest
    wanted: str
    """A digest of the filter, by which a change of it is noticed."""
    encoding: str
    after_sync: bool
    batch: int
    retry_s: tuple[float, ...]
    attempts: int
    rescan_on_change: bool

    awaited = False

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return where it delivers."""
        return [{"type": "notify", "address": self.target}]


def parse_notify(text: str, kinds: Mapping[str, TransportKind], params: ChainParams) -> Delivery:
    """Return the lane that `-notify=<text>` asks for. Raises ConfigError naming what is wrong, never a password."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ConfigError(f"-notify: not a URL: {error}") from None
    kind = kinds.get(parts.scheme)
    if kind is None:
        raise ConfigError(f"-notify: no transport for {parts.scheme!r}; there are {', '.join(sorted(kinds))}")
    if parts.fragment:
        raise ConfigError(f"-notify={NotifyUrl(parts, {}).shown}: nothing may stand behind a #; write it as %23")
    given = _given(NotifyUrl(parts, {}), kind)
    lane = _Settings(NotifyUrl(parts, {}).shown, given)
    fields = lane.fields()
    own = {name: value for name, value in given.items() if name in kind.settings}
    url = NotifyUrl(parts, own, lane.seconds("timeout", kind.timeout_s))
    name = given.get("name", url.shown)
    if not _NAME.fullmatch(name):
        raise lane.error("name", "1 to 200 printable characters without blanks")
    try:
        request = parse_request(fields, params)
    except StreamError as error:
        raise ConfigError(f"-notify={url.shown}: {error.message}") from None
    return Delivery(
        name=name,
        target=url.shown,
        transport=kind.make(url),
        request=request,
        wanted=_digest(fields),
        encoding=lane.word("encoding", kind.encodings),
        after_sync=lane.word("after_sync", ("0", "1")) == "1",
        batch=lane.number("batch", kind.batch, 1, MAX_BATCH),
        retry_s=lane.schedule(kind.retry_s),
        attempts=lane.number("attempts", kind.attempts, 0, 10**6),
        rescan_on_change=lane.word("changed", _CHANGED) == "rescan",
    )


def _given(url: NotifyUrl, kind: TransportKind) -> dict[str, str]:
    known = LANE_SETTINGS | FIELDS | kind.settings
    given: dict[str, str] = {}
    for name, value in parse_qsl(url.parts.query, keep_blank_values=True):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(sorted(known))}"
            raise ConfigError(f"-notify={url.shown}: there is no setting {name!r}{hint}")
        if name in given:
            raise ConfigError(f"-notify={url.shown}: {name} is given twice")
        given[name] = value
    return given


def _digest(fields: Mapping[str, Any]) -> str:
    asked = {name: value for name, value in fields.items() if name != "from"}
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


class _Settings:
    """Reads the settings of one lane. Every method raises ConfigError."""

    def __init__(self, shown: str, given: Mapping[str, str]) -> None:
        self._shown = shown
        self._given = given

    def error(self, name: str, expected: str) -> ConfigError:
        return ConfigError(f"-notify={self._shown}: {name}={self._given.get(name, '')}: {expected} expected")

    def word(self, name: str, words: Sequence[str]) -> str:
        """Return one of the words, the first by default."""
        value = self._given.get(name, words[0])
        if value not in words:
            raise self.error(name, " or ".join(words))
        return value

    def number(self, name: str, default: int, least: int, most: int) -> int:
        text = self._given.get(name, str(default))
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise self.error(name, f"a number from {least} to {most}")
        return int(text)

    def seconds(self, name: str, default: float) -> float:
        found = self._seconds(name, self._given.get(name, str(default)))
        if not found:
            raise self.error(name, "more than 0 seconds")
        return found

    def schedule(self, default: tuple[float, ...]) -> tuple[float, ...]:
        """Return the pauses between attempts: seconds with commas between them."""
        text = self._given.get("retry")
        return default if text is None else tuple(self._seconds("retry", word) for word in text.split(","))

    def _seconds(self, name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not math.isfinite(value) or not 0 <= value <= 86_400 * 30:
            raise self.error(name, "seconds")
        return value

    def fields(self) -> dict[str, Any]:
        """Return the fields of the stream: those of the file `filterfile`, and those in the URL, which count more."""
        fields: dict[str, Any] = {}
        path = self._given.get("filterfile")
        if path is not None:
            try:
                read = orjson.loads(Path(path).read_bytes())
            except (OSError, orjson.JSONDecodeError) as error:
                raise ConfigError(f"-notify={self._shown}: filterfile={path}: {error}") from None
            if not isinstance(read, dict):
                raise self.error("filterfile", "a JSON object")
            fields.update(read)
        fields.update((name, value) for name, value in self._given.items() if name in FIELDS)
        return fields
