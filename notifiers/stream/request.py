"""What a subscriber asks for, whichever transport brought it.

Owns: the names and meaning of the fields. Never: transports.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clarion.node.errors import DecodeError, StreamError
from clarion.node.events.encoding import parse_details, parse_types
from clarion.node.events.expand import ALL_EVENTS
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.address import decode_address
from clarion.node.primitives.descriptor_range import ScriptWindow, read_descriptor_range, split_descriptors
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.notifiers.stream.filters import EventFilter

FIELDS = frozenset(
    (
        "from",
        "types",
        "details",
        "txids",
        "addresses",
        "scripts",
        "descriptors",
        "script_hashes",
        "outpoints",
        "op_returns",
        "min_value_sat",
        "min_conf",
    )
)
"""Every field of a request. Lists are JSON lists, or words with commas between them where only text can be sent."""

MAX_CONF = 1000


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """From where (`now`, `start`, `height:N` or a cursor), which events, and which details of them."""

    start: str = "now"
    wanted: EventFilter = field(default_factory=EventFilter)
    details: frozenset[str] = frozenset()


def parse_request(fields: Mapping[str, Any], params: ChainParams) -> StreamRequest:
    """Return what the fields ask for. Raises StreamError `bad-request` naming the field that is wrong."""
    unknown = sorted(set(fields) - FIELDS)
    if unknown:
        raise StreamError("bad-request", f"there is no field {unknown[0]!r}; there are {', '.join(sorted(FIELDS))}")
    field = ""
    try:
        values: dict[str, Any] = {}
        for field, value in fields.items():
            values[field] = _read(field, value, params)
    except (DecodeError, ValueError) as error:
        raise StreamError("bad-request", f"{field}: {error}") from None
    windows: list[ScriptWindow] = values.get("descriptors", [])
    scripts = values.get("scripts", frozenset()) | values.get("addresses", frozenset())
    scripts = scripts.union(*(each.indexes for each in windows if not each.described.gap))
    wanted = EventFilter(
        types=values.get("types", ALL_EVENTS),
        txids=_keys(values.get("txids", ())),
        scripts=_keys(scripts),
        script_hashes=_keys(values.get("script_hashes", ())),
        outpoints=_keys(values.get("outpoints", ())),
        op_returns=values.get("op_returns", ()),
        windows=tuple(each for each in windows if each.described.gap),
        min_value_sat=values.get("min_value_sat", 0),
        min_conf=values.get("min_conf", 1),
    )
    return StreamRequest(values.get("from", "now"), wanted, values.get("details", frozenset()))


def _keys(found: Iterable[bytes]) -> Collection[bytes]:
    """Return keys for a filter. A dictionary of bytes is not looked through by the cyclic collector, a set is."""
    return dict.fromkeys(found)


def _read(field: str, value: Any, params: ChainParams) -> Any:
    if field == "from":
        return str(value)
    if field in ("min_value_sat", "min_conf"):
        return _number(value, *((0, 2**63 - 1) if field == "min_value_sat" else (1, MAX_CONF)))
    if field == "descriptors":
        described = split_descriptors(value) if isinstance(value, str) else value
        if not isinstance(described, list) or not described:
            raise ValueError("a list of descriptors expected")
        return [ScriptWindow(read_descriptor_range(each, params)) for each in described]
    words = _words(value)
    match field:
        case "types":
            return parse_types(words)
        case "details":
            return parse_details(words)
        case "txids":
            return frozenset(map(hash_from_hex, words))
        case "script_hashes":
            return frozenset(map(hash_from_hex, words))
        case "addresses":
            return frozenset(decode_address(word, params) for word in words)
        case "outpoints":
            return frozenset(map(_outpoint, words))
        case "op_returns":
            return tuple(map(_bytes, words))
    return frozenset(map(_bytes, words))


def _words(value: Any) -> Sequence[str]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise ValueError("a list of words expected")
    if not words:
        # No keys at all would mean every transaction, to somebody whose list of addresses happens to be empty.
        raise ValueError("at least one word expected; leave the field out where it is not to count")
    return words


def _bytes(word: str) -> bytes:
    try:
        found = bytes.fromhex(word)
    except ValueError:
        raise ValueError(f"hex expected, not {word!r}") from None
    if 2 * len(found) != len(word):
        raise ValueError(f"hex without blanks expected, not {word!r}")
    return found


def _number(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        # A whole number too large for 64 bits comes as a float out of JSON.
        raise ValueError(f"a number from {least} to {most} expected")
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError(f"a number expected, not {value!r}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"a number from {least} to {most} expected")
    return number


def _outpoint(word: str) -> bytes:
    txid, colon, index = word.partition(":")
    if not colon or not index.isascii() or not index.isdigit() or int(index) > 0xFFFFFFFF:
        raise ValueError(f"txid:index expected, not {word!r}")
    return make_outpoint(hash_from_hex(txid), int(index))
