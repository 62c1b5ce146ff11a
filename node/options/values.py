"""Turns the text of options into values.

Owns: the forms that each kind of value may have, and the one line that is said about a wrong one.
"""

import re

from clarion.node.errors import ConfigError
from clarion.node.options.settings import Value
from clarion.node.primitives.amounts import parse_money

_TRUE = frozenset(("", "true", "yes", "on"))
_FALSE = frozenset(("false", "no", "off"))
_NUMBER = re.compile(r"[+-]?[0-9]+")
_HEX = re.compile(r"(0x)?[0-9a-fA-F]*")


def read_flag(name: str, value: Value) -> bool:
    """Return whether a flag is set: no text or a number other than 0 says yes, also `true`, `yes`, `on`."""
    if isinstance(value, bool):
        return value
    text = value.strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if not _NUMBER.fullmatch(text):
        raise ConfigError(f"Invalid value for -{name}: '{value}' (1 or 0 expected)")
    return int(text) != 0


def read_number(name: str, value: Value, least: int | None = None, most: int | None = None) -> int:
    """Return a whole number; `-noname` says 0. Raises ConfigError outside [least, most]."""
    if isinstance(value, bool):
        return int(value)
    if not _NUMBER.fullmatch(value.strip()):
        raise ConfigError(f"Invalid value for -{name}: '{value}' (a whole number expected)")
    number = int(value)
    if least is not None and number < least:
        raise ConfigError(f"Invalid value for -{name}: {number} (at least {least} expected)")
    if most is not None and number > most:
        raise ConfigError(f"Invalid value for -{name}: {number} (at most {most} expected)")
    return number


def read_amount(name: str, value: Value) -> int:
    """Return satoshis from an amount of BTC. Raises ConfigError as the reference words it."""
    text = read_text(value)
    satoshis = parse_money(text)
    if satoshis is None:
        raise ConfigError(f"Invalid amount for -{name}=<amount>: '{text}'")
    return satoshis


def read_hex256(value: Value) -> int | None:
    """Return the number that up to 64 hex digits, after an optional 0x, say; None if they are none."""
    text = {True: "1", False: "0"}[value] if isinstance(value, bool) else value
    digits = text.removeprefix("0x")
    if not _HEX.fullmatch(text) or len(digits) > 64:
        return None
    return int(digits or "0", 16)


def read_text(value: Value) -> str:
    """Return a text option's value; negation reads as `0`, as in the reference."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return value


def split_host_port(text: str) -> tuple[str, int | None]:
    """Return (host, port) of `host`, `host:port`, `[ipv6]` or `[ipv6]:port`. Raises ValueError for a bad port."""
    host, colon, port_text = text.rpartition(":")
    bracketed = bool(colon) and host.startswith("[") and host.endswith("]")
    port: int | None = None
    if colon and (not host or bracketed or ":" not in host):
        if not port_text.isdecimal() or not 0 < int(port_text) < 65536:
            raise ValueError(text)
        port = int(port_text)
    else:
        host = text
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


def check_port(name: str, value: Value) -> int:
    """Return a port number. Raises ConfigError as the reference words it."""
    text = read_text(value)
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ConfigError(f"Invalid port specified in -{name}: '{text}'")
    return int(text)
