"""What a REST path asks for: its format, its parts and its query.

Owns: parsing as Bitcoin Core's rest.cpp does it, and its error texts. Never: data.
"""

from dataclasses import dataclass
from urllib.parse import unquote

from clarion.api.rpc.parse import is_hex

FORMATS = ("bin", "hex", "json")
AVAILABLE = ".bin, .hex, .json"


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """A whole HTTP answer."""

    status: int
    body: bytes
    content_type: bytes


class RestError(Exception):
    """An answer in plain text with an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.answer = RestAnswer(status, f"{message}\r\n".encode("utf-8", "replace"), b"text/plain")


@dataclass(frozen=True, slots=True)
class RestRequest:
    """`param` is the path behind the handler's prefix, without format and query; `format` is "" where none is known.

    `body` is read only for routes that want it.
    """

    param: str
    format: str
    query: str
    body: bytes = b""

    def query_value(self, name: str) -> str | None:
        """Return the first value of a query parameter, "" for one without `=`, None without it."""
        for pair in self.query.split("&") if self.query else ():
            key, _, value = pair.partition("=")
            if unquote(key) == name:
                return unquote(value)
        return None


def parse_request(rest: str, query: str, body: bytes = b"") -> RestRequest:
    """Split what lies behind the prefix. A dot with an unknown format behind it stays part of the parameter."""
    param, dot, suffix = rest.rpartition(".")
    if dot and suffix in FORMATS:
        return RestRequest(param, suffix, query, body)
    if dot and not suffix:
        return RestRequest(param, "", query, body)
    return RestRequest(rest, "", query, body)


def parse_block_hash(text: str) -> bytes:
    """Return the internal byte order of a displayed hash. Raises RestError 400."""
    if len(text) != 64 or not is_hex(text):
        raise RestError(400, f"Invalid hash: {text}")
    return bytes.fromhex(text)[::-1]


def parse_number(text: str, limit: int) -> int | None:
    """Return an integer in decimal digits, a minus sign allowed, None if it is anything else or beyond `limit`."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        return None
    value = int(text) if len(digits) < 40 else None
    return value if value is not None and -limit - 1 <= value <= limit else None


def format_error(available: str = AVAILABLE) -> RestError:
    """Return the answer to a missing or unknown format."""
    return RestError(404, f"output format not found (available: {available})")


def hex_answer(data: bytes) -> RestAnswer:
    """Return data as a line of hex."""
    return RestAnswer(200, data.hex().encode() + b"\n", b"text/plain")


def bin_answer(data: bytes) -> RestAnswer:
    """Return data as it is."""
    return RestAnswer(200, data, b"application/octet-stream")


def json_answer(encoded: bytes) -> RestAnswer:
    """Return JSON text as a line."""
    return RestAnswer(200, encoded + b"\n", b"application/json")
