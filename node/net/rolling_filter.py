"""A filter that remembers what was put into it lately, in little memory and with a few false memories.

Owns: the bits. Never: what the items mean.
"""

import math
import secrets
from collections.abc import Iterator
from hashlib import blake2b

_GENERATIONS = 3


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
        # Two hashes do for all (Kirsch and Mitzenmacher 2006).
        digest = blake2b(item, digest_size=16, key=self._key).digest()
        at, step = int.from_bytes(digest[:8]), int.from_bytes(digest[8:]) | 1
        for count in range(self._hashes):
            yield (at + count * step) % self._bits
