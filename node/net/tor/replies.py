"""Replies of Tor's control port.

Owns: putting lines together, and reading what stands in them. Never: sockets, what a reply leads to.
Source: Tor's control-spec, sections 2 and 3; the limits are those of Bitcoin Core's src/torcontrol.cpp.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from clarion.node.errors import PeerError

MAX_LINE_BYTES = 100_000
MAX_LINES = 1_000
ASYNCHRONOUS = 600
"""Replies from this code on answer no command."""
_PAIR = re.compile(r'([^= ]*)=("(?:[^"\\]|\\.)*"|[^" ][^ ]*|(?= )|$) ?', re.DOTALL)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(slots=True)
class Reply:
    """An answer: its code, and its lines without code and separator."""

    code: int = 0
    lines: list[str] = field(default_factory=list)


class ReplyReader:
    """Makes replies of bytes."""

    def __init__(self) -> None:
        self._buffer = b""
        self._reply = Reply()

    def receive(self, data: bytes) -> Iterator[Reply]:
        """Yield the replies that are complete now. Raises PeerError for a line or a reply that is too long."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if any(len(line) > MAX_LINE_BYTES for line in (*lines, self._buffer)):
            raise PeerError(f"Control port line exceeded {MAX_LINE_BYTES} bytes, disconnecting")
        for raw in lines:
            if len(self._reply.lines) == MAX_LINES:
                raise PeerError(f"Control port reply exceeded {MAX_LINES} lines, disconnecting")
            line = raw.removesuffix(b"\r").decode("latin-1")
            if len(line) < 4:
                continue
            self._reply.code = int(line[:3]) if line[:3].isascii() and line[:3].isdigit() else 0
            self._reply.lines.append(line[4:])
            if line[3] == " ":
                reply, self._reply = self._reply, Reply()
                yield reply


def split_kind(line: str) -> tuple[str, str]:
    """Return the first word of a line and what follows it."""
    kind, _, rest = line.partition(" ")
    return kind, rest


def parse_mapping(text: str) -> dict[str, str]:
    """Return the values of `KEY=value KEY="quoted value" …`, empty if it is malformed.

    What follows a word without `=` is for later versions, and is ignored.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None:
            word = re.compile(r"[^= ]* ").match(text, at)
            return found if word is not None else {}
        key, value = match.groups()
        found[key] = _unescape(value[1:-1]) if value[:1] == '"' else value
        at = match.end()
    return found


def _unescape(text: str) -> str:
    """Return a quoted text's meaning: C's escapes, octal ones too; any other escaped character stands for itself."""

    def meaning(match: re.Match[str]) -> str:
        escaped = match[1]
        return chr(int(escaped, 8)) if escaped[0] in "01234567" else _CONTROL.get(escaped, escaped)

    return _ESCAPE.sub(meaning, text)
