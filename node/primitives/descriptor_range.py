"""Descriptors over a range of indexes, as clients name them: which scripts they stand for, and where the range ends.

Owns: the client's form (`"desc"`, or `{"desc": …, "range": …, "gap": …}`), its limits, deriving. Never: who watches them.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from clarion.node.primitives.address import AddressFormat
from clarion.node.primitives.descriptor import Descriptor, parse_descriptors
from clarion.node.primitives.descriptor_checksum import DescriptorError

MAX_RANGE = 1_000_000
MAX_GAP = 10_000
DEFAULT_END = 1000
"""Last index of a range that is not named, as the reference's scans have it."""

_END_OF_INDEXES = 1 << 31


@dataclass(frozen=True, slots=True)
class DescriptorRange:
    """A descriptor, or its alternatives (BIP389), from index `first` to `last`.

    With `gap` above 0 the range grows: that many indexes behind the last one that was seen in use belong to it.
    """

    text: str
    descriptors: tuple[Descriptor, ...]
    first: int
    last: int
    gap: int

    def scripts(self, first: int, last: int) -> Iterator[tuple[bytes, int]]:
        """Yield (script, index) for indexes from `first` to `last`."""
        for index in range(first, last + 1):
            for descriptor in self.descriptors:
                for script in descriptor.expand(index) or ():
                    yield script, index

    def end_for(self, used: int) -> int:
        """Return where the range has to end once index `used` was seen in use."""
        return min(used + self.gap, _END_OF_INDEXES - 1) if self.gap else self.last


def read_descriptor_range(value: Any, network: AddressFormat) -> DescriptorRange:
    """Return what a client named. Raises DescriptorError saying what is wrong."""
    fields = {"desc": value} if isinstance(value, str) else value
    if not isinstance(fields, dict) or not isinstance(fields.get("desc"), str):
        raise DescriptorError("a descriptor, or an object with desc, range and gap expected")
    unknown = sorted(set(fields) - {"desc", "range", "gap"})
    if unknown:
        raise DescriptorError(f"there is no {unknown[0]!r} in a descriptor's object")
    text = fields["desc"]
    descriptors = tuple(parse_descriptors(text, network))
    gap = _gap(fields.get("gap", 0))
    if not descriptors[0].is_range:
        if fields.get("range") is not None or gap:
            raise DescriptorError("range and gap are for descriptors with a *")
        first = last = 0
    else:
        first, last = _range(fields.get("range"), gap)
    if any(descriptor.expand(first) is None for descriptor in descriptors):
        raise DescriptorError("Cannot derive script without private keys")
    return DescriptorRange(text, descriptors, first, last, gap)


def split_descriptors(text: str) -> list[str]:
    """Return the descriptors of a text with commas between them; commas in brackets are theirs."""
    words, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            words.append("")
        else:
            words[-1] += char
    return words


def _gap(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_GAP:
        raise DescriptorError(f"gap is a number from 0 to {MAX_GAP}")
    return value


def _range(value: Any, gap: int) -> tuple[int, int]:
    if value is None:
        return 0, gap - 1 if gap else DEFAULT_END
    low, high = value if isinstance(value, list) and len(value) == 2 else (0, value)
    if any(isinstance(each, bool) or not isinstance(each, int) for each in (low, high)):
        raise DescriptorError("range is its end or [begin,end]")
    if not 0 <= low <= high < _END_OF_INDEXES:
        raise DescriptorError(f"a range goes from 0 to {_END_OF_INDEXES - 1} and does not end before it begins")
    if high - low >= MAX_RANGE:
        raise DescriptorError(f"a range has at most {MAX_RANGE} indexes")
    return low, high


class ScriptWindow:
    """The scripts of a range as they grow with use. Not thread-safe."""

    def __init__(self, described: DescriptorRange) -> None:
        self.described = described
        self.last = described.last
        self.indexes: dict[bytes, int] = dict(described.scripts(described.first, described.last))
        self._fresh: list[bytes] = []

    def __contains__(self, script: bytes) -> bool:
        return script in self.indexes

    def note(self, scripts: Collection[bytes]) -> bool:
        """Take note of scripts that are in use, and grow for them; whether one of them belongs to the window."""
        used = [self.indexes[script] for script in scripts if script in self.indexes]
        # What it grows by may be among them, too.
        while used and (end := self.described.end_for(max(used))) > self.last:
            more = self.grow_to(end)
            used += [more[script] for script in scripts if script in more]
        return bool(used)

    def grow_to(self, end: int) -> dict[bytes, int]:
        """Have the range end at index `end`, unless it ends behind it; return what it grew by."""
        more = dict(self.described.scripts(self.last + 1, end))
        self.indexes |= more
        self._fresh += more
        self.last = max(self.last, end)
        return more

    def take_fresh(self) -> list[bytes]:
        """Return the scripts that came since the last call."""
        fresh, self._fresh = self._fresh, []
        return fresh
