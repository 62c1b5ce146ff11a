"""MuHash3072: a hash of a set, to which elements are added and from which they are removed in any order.

Owns: the group, its elements and the final hash. Never: what the elements stand for.
Source: Bitcoin Core's crypto/muhash.h; Bellare and Micciancio, "A new paradigm for collision-free hashing".
"""

from collections.abc import Iterable
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

SIZE = 384
"""Bytes of a number of the group."""

_BITS = 8 * SIZE
_DIFFERENCE = 1_103_717
_MODULUS = (1 << _BITS) - _DIFFERENCE
_MASK = (1 << _BITS) - 1
_ZEROS = bytes(SIZE)
_NONCE = bytes(16)


def muhash_element(data: bytes) -> int:
    """Return the number of the group that stands for `data`, below 2^3072."""
    stream = Cipher(ChaCha20(sha256(data).digest(), _NONCE), None).encryptor().update(_ZEROS)
    return int.from_bytes(stream, "little")


def product(factors: Iterable[int], start: int = 1) -> int:
    """Return the product in the group, below 2^3072."""
    result = start
    for factor in factors:
        result *= factor
        # 2^3072 is the difference, modulo the modulus: folding what lies above is much faster than dividing. Twice, for
        # what is above after the first time would grow from factor to factor.
        result = (result & _MASK) + (result >> _BITS) * _DIFFERENCE
        result = (result & _MASK) + (result >> _BITS) * _DIFFERENCE
    while result > _MASK:
        result = (result & _MASK) + (result >> _BITS) * _DIFFERENCE
    return result


class MuHash3072:
    """A set as a fraction in the group: what was added over what was removed."""

    def __init__(self, numerator: int = 1, denominator: int = 1) -> None:
        self.numerator = numerator
        self.denominator = denominator

    @classmethod
    def parse(cls, data: bytes) -> "MuHash3072":
        """Return the set that `serialize` wrote."""
        return cls(int.from_bytes(data[:SIZE], "little"), int.from_bytes(data[SIZE:], "little"))

    def serialize(self) -> bytes:
        """Return numerator and denominator, little-endian."""
        return self.numerator.to_bytes(SIZE, "little") + self.denominator.to_bytes(SIZE, "little")

    def add(self, elements: Iterable[bytes]) -> None:
        """Add elements to the set."""
        self.numerator = product(map(muhash_element, elements), self.numerator)

    def remove(self, elements: Iterable[bytes]) -> None:
        """Remove elements from the set, whether they are in it yet or not."""
        self.denominator = product(map(muhash_element, elements), self.denominator)

    def digest(self) -> bytes:
        """Return the set's hash, 32 bytes in internal order."""
        quotient = self.numerator * pow(self.denominator, -1, _MODULUS) % _MODULUS
        return sha256(quotient.to_bytes(SIZE, "little")).digest()
