"""A filter that remembers what was put into it lately, in little memory and with a few false memories.

Owns: the bits. Never: what the items mean.
"""

import math
import secrets
import struct
from collections.abc import Iterator
from hashlib import blake2b

_GENERATIONS = 3
_WORDS = struct.Struct("<16I")


class RollingFilter:
    """Remembers at least the last `capacity` items, at most half as many more.

    An item that was never put in seems to be there with a probability of at most `false_positive_rate`. Which ones
    nobody can know who does not know this filter's random key. There are three generations of half the capacity; when
    the newest is full, the oldest is forgotten.
    """

    def __init__(self, capacity: int, false_positive_rate: float) -> None:
        self._per_generation = -(-capacity // 2)
        rate = false_positive_rate / _GENERATIONS
        self._hashes = max(1, round(-math.log2(rate)))
        self._bits = math.ceil(-self._hashes * self._per_generation / math.log(1 - rate ** (1 / self._hashes)))
        self.clear()

    def clear(self) -> None:
        """Forget everything, and which items seem to be there by chance."""
        self._key = secrets.token_bytes(16)
        self._generations: list[bytearray] = []
        self._in_newest = 0

    def add(self, item: bytes) -> None:
        """Remember an item. One that is known counts again."""
        if not self._generations or self._in_newest == self._per_generation:
            self._generations.insert(0, bytearray((self._bits + 7) // 8))
            del self._generations[_GENERATIONS:]
            self._in_newest = 0
        self._in_newest += 1
        newest = self._generations[0]
        for position in self._positions(item):
            newest[position >> 3] |= 1 << (position & 7)

    def __contains__(self, item: bytes) -> bool:
        if not self._generations:
            return False
        positions = list(self._positions(item))
        return any(
            all(bits[position >> 3] >> (position & 7) & 1 for position in positions) for bits in self._generations
        )

    def _positions(self, item: bytes) -> Iterator[int]:
        # Each has bits of its own: derived from two numbers, all would agree too often where the filter is small.
        for first in range(0, self._hashes, _WORDS.size // 4):
            salt = first.to_bytes(2, "little")
            words = _WORDS.unpack(blake2b(item, digest_size=_WORDS.size, key=self._key, salt=salt).digest())
            for word in words[: self._hashes - first]:
                yield word % self._bits
