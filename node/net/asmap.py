"""A map from IP addresses to autonomous systems: whoever runs many of the former seldom runs many of the latter.

Owns: reading the map's form and looking addresses up. Never: files, what a system's number is used for.
Source: Bitcoin Core's src/util/asmap.cpp and doc/asmap-data.md. A map is a string of bits, lowest first in each byte: a
small program that takes an address bit by bit to its answer.
"""

from collections.abc import Iterable
from typing import NamedTuple

from clarion.node.primitives.hashes import sha256d

ADDRESS_BITS = 128
_RETURN, _JUMP, _MATCH, _DEFAULT = range(4)
_Code = tuple[tuple[int, int], ...]
"""For each class of a number how many bits its place takes, and the least number of the class."""


def _code(least: int, sizes: Iterable[int]) -> _Code:
    code = []
    for size in sizes:
        code.append((size, least))
        least += 1 << size
    return tuple(code)


_KINDS = _code(0, (0, 0, 1))
_SYSTEMS = _code(1, range(15, 25))
_ARGUMENTS = {_RETURN: _SYSTEMS, _JUMP: _code(17, range(5, 31)), _MATCH: _code(2, range(1, 9)), _DEFAULT: _SYSTEMS}
_WINDOW_BYTES = 9
"""The longest number takes 55 bits, which may begin at any bit of a byte."""
_MOST_PADDING = 7


class BadMap(ValueError):
    """The bytes are no map."""


class _Step(NamedTuple):
    kind: int
    argument: int
    next: int
    """Where the next step begins, in bits."""


class AsMap:
    """A map that has been checked."""

    def __init__(self, data: bytes) -> None:
        """Raises BadMap unless every address leads to an answer by steps that can't be fewer."""
        self._data = data
        self._end = 8 * len(data)
        self._steps: dict[int, _Step] = {}
        """Steps that some address has taken: those near the beginning are taken again and again."""
        _Check(self).run()

    @property
    def version(self) -> bytes:
        """The hash by which maps are told apart, in internal order."""
        return sha256d(self._data)

    def system_of(self, address: bytes) -> int:
        """Return the number of the autonomous system that 16 bytes belong to, 0 if it is unknown."""
        bits, left = int.from_bytes(address, "big"), ADDRESS_BITS
        at = default = 0
        while True:
            step = self._steps.get(at)
            if step is None:
                step = self._steps[at] = self.step(at)
            at = step.next
            if step.kind == _RETURN:
                return step.argument
            if step.kind == _DEFAULT:
                default = step.argument
            elif step.kind == _JUMP:
                left -= 1
                if bits >> left & 1:
                    at += step.argument
            else:
                # The highest bit says how many there are.
                length = step.argument.bit_length() - 1
                left -= length
                if bits >> left & ((1 << length) - 1) != step.argument ^ (1 << length):
                    return default

    def step(self, at: int) -> _Step:
        """Return the step that begins at a bit. Raises BadMap if the map ends before the step does."""
        kind, at = self._number(at, _KINDS)
        argument, at = self._number(at, _ARGUMENTS[kind])
        return _Step(kind, argument, at)

    def _number(self, at: int, code: _Code) -> tuple[int, int]:
        """Return (number, where it ends). It is of a class, which ones tell, and has a place in it, highest bit first.

        All classes but the last have a zero behind their ones.
        """
        byte = at >> 3
        window = int.from_bytes(self._data[byte : byte + _WINDOW_BYTES], "little") >> (at & 7)
        ones = (~window & (window + 1)).bit_length() - 1
        last = len(code) - 1
        used = ones + 1 if ones < last else last
        size, least = code[min(ones, last)]
        end = at + used + size
        if end > self._end:
            raise BadMap(f"it ends in the middle of a step at bit {at}")
        place = window >> used & ((1 << size) - 1)
        return least + int(f"{place:0{size}b}"[::-1], 2) if size else least, end

    def is_padding(self, at: int) -> bool:
        """Whether nothing but a few zeros is left behind a bit."""
        rest = int.from_bytes(self._data[at >> 3 :], "little") >> (at & 7) if self._end - at <= _MOST_PADDING else 1
        return rest == 0

    @property
    def end(self) -> int:
        """How many bits there are."""
        return self._end


class _Check:
    """Goes through a map once, from its first to its last bit, as if every jump were taken and not taken."""

    def __init__(self, asmap: AsMap) -> None:
        self._map = asmap
        self._jumps: list[tuple[int, int]] = []
        """Where jumps lead that are still ahead, the next one last, with the bits of the address that are left there."""
        self._left = ADDRESS_BITS
        self._short_match = False

    def run(self) -> None:
        """Raise BadMap if something is wrong."""
        at, before = 0, _JUMP
        while at < self._map.end:
            if self._jumps and at >= self._jumps[-1][0]:
                raise BadMap(f"a jump leads into the middle of the step before bit {at}")
            step = self._map.step(at)
            at = step.next
            if before == _DEFAULT and step.kind in (_RETURN, _DEFAULT):
                raise BadMap(f"a default before bit {at} has no effect")
            if step.kind == _RETURN:
                if not self._jumps:
                    if not self._map.is_padding(at):
                        raise BadMap(f"something follows the last answer at bit {at}")
                    return
                self._go_on_at_jump(at)
                before = _JUMP
                continue
            if step.kind == _JUMP:
                self._take_jump(at, step.argument)
            elif step.kind == _MATCH:
                self._take_match(at, step.argument, before)
            before = step.kind
        raise BadMap("it ends without an answer")

    def _go_on_at_jump(self, at: int) -> None:
        target, self._left = self._jumps.pop()
        if at != target:
            raise BadMap(f"nothing leads to bit {at}")

    def _take_jump(self, at: int, distance: int) -> None:
        if distance > self._map.end - at:
            raise BadMap(f"a jump before bit {at} leads out of the map")
        self._use(at, 1)
        target = at + distance
        if self._jumps and target >= self._jumps[-1][0]:
            raise BadMap(f"a jump before bit {at} crosses another")
        self._jumps.append((target, self._left))

    def _take_match(self, at: int, argument: int, before: int) -> None:
        length = argument.bit_length() - 1
        if before != _MATCH:
            self._short_match = False
        if length < 8 and self._short_match:
            raise BadMap(f"two short comparisons before bit {at} could be one")
        self._short_match = length < 8
        self._use(at, length)

    def _use(self, at: int, count: int) -> None:
        if self._left < count:
            raise BadMap(f"an address has no bit left at bit {at}")
        self._left -= count
