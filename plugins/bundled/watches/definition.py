"""What clients say about a watch.

Owns: the names of the fields, their limits, and the scripts that they stand for. Never: what is stored.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from clarion.node.errors import DecodeError, RpcError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.address import decode_address
from clarion.node.primitives.descriptor_range import read_descriptor_range
from clarion.plugins.bundled.watches.records import INVALID, MAX_SCRIPT_BYTES, NO_RANGE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FIELDS = frozenset(("addresses", "scripts", "descriptors", "start"))
_MAX_DESCRIPTORS = 1_000

RangeFields = tuple[str, int, int, int]
"""Text, first, last, gap of a descriptor with a range."""


class Definition(NamedTuple):
    """What to watch: (script, number of its descriptor or NO_RANGE, index), the descriptors, and from which height on."""

    scripts: list[tuple[bytes, int, int]]
    ranges: list[RangeFields]
    start: int | None


def check_name(name: Any) -> str:
    """Return a watch's name. Raises RpcError -8."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RpcError(INVALID, "A watch's name has 1 to 64 letters, digits, dots, dashes and underscores")
    return name


def check_height(value: Any) -> int:
    """Return a height. Raises RpcError -8."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise RpcError(INVALID, f"start: a height expected, not {value!r}")
    return value


def read_definition(fields: Mapping[str, Any], params: ChainParams) -> Definition:
    """Return what the fields stand for. Raises RpcError -8 naming the field that is wrong."""
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise RpcError(INVALID, f"There is no field {unknown[0]!r}; there are {', '.join(sorted(_FIELDS))}")
    start = fields.get("start")
    scripts: list[tuple[bytes, int, int]] = []
    ranges: list[RangeFields] = []
    field = ""
    try:
        field = "addresses"
        scripts += [(decode_address(text, params), NO_RANGE, 0) for text in _texts(fields, field)]
        field = "scripts"
        scripts += [(bytes.fromhex(text), NO_RANGE, 0) for text in _texts(fields, field)]
        field = "descriptors"
        for value in _list(fields, field):
            described = read_descriptor_range(value, params)
            found = described.scripts(described.first, described.last)
            if described.descriptors[0].is_range:
                scripts += [(script, len(ranges), index) for script, index in found]
                ranges.append((described.text, described.first, described.last, described.gap))
            else:
                scripts += [(script, NO_RANGE, 0) for script, _ in found]
        if len(ranges) > _MAX_DESCRIPTORS:
            raise ValueError(f"at most {_MAX_DESCRIPTORS} with a range")
    except (DecodeError, ValueError) as error:
        raise RpcError(INVALID, f"{field}: {error}") from None
    if any(not 0 < len(script) <= MAX_SCRIPT_BYTES for script, _, _ in scripts):
        raise RpcError(INVALID, f"A script that is watched has 1 to {MAX_SCRIPT_BYTES} bytes")
    if not scripts:
        raise RpcError(INVALID, "There is nothing to watch: name addresses, scripts or descriptors")
    return Definition(scripts, ranges, None if start is None else check_height(start))


def _list(fields: Mapping[str, Any], field: str) -> list[Any]:
    value = fields.get(field, [])
    if not isinstance(value, list):
        raise ValueError("a list expected")
    return value


def _texts(fields: Mapping[str, Any], field: str) -> list[str]:
    value = _list(fields, field)
    if not all(isinstance(each, str) for each in value):
        raise ValueError("a list of words expected")
    return value
