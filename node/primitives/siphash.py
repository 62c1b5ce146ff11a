"""SipHash-2-4: a keyed hash of 64 bits.

Owns: the function. Never: keys.
Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF".
"""

from collections.abc import Sequence

_MASK = 0xFFFFFFFFFFFFFFFF


def siphash(k0: int, k1: int, data: bytes) -> int:
    """Return the hash of `data` under the two halves of the key, as a number below 2^64."""
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    length = len(data)
    whole = length & ~7
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    # The last word carries what is left over, and the length in its highest byte.
    words.append(int.from_bytes(data[whole:], "little") | (length & 0xFF) << 56)
    for word in words:
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3 ^ word, 2)
        v0 ^= word
    v0, v1, v2, v3 = _rounds(v0, v1, v2 ^ 0xFF, v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


def _rounds(v0: int, v1: int, v2: int, v3: int, count: int) -> tuple[int, int, int, int]:
    mask = _MASK
    for _ in range(count):
        v0 = (v0 + v1) & mask
        v1 = ((v1 << 13) & mask | v1 >> 51) ^ v0
        v0 = (v0 << 32) & mask | v0 >> 32
        v2 = (v2 + v3) & mask
        v3 = ((v3 << 16) & mask | v3 >> 48) ^ v2
        v0 = (v0 + v3) & mask
        v3 = ((v3 << 21) & mask | v3 >> 43) ^ v0
        v2 = (v2 + v1) & mask
        v1 = ((v1 << 17) & mask | v1 >> 47) ^ v2
        v2 = (v2 << 32) & mask | v2 >> 32
    return v0, v1, v2, v3


def siphash_many(k0: int, k1: int, items: Sequence[bytes]) -> list[int]:
    """Return the hash of each item: `siphash` for many at a time, an order of magnitude faster."""
    by_length: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        by_length.setdefault(len(item), []).append(place)
    hashes = [0] * len(items)
    for length, places in by_length.items():
        found = _siphash_lanes(k0, k1, [items[place] for place in places], length)
        for place, value in zip(places, found, strict=True):
            hashes[place] = value
    return hashes


def _siphash_lanes(k0: int, k1: int, items: Sequence[bytes], length: int) -> list[int]:
    """Hash items of one length together: each has a lane of 128 bits in one large number, 64 of them for carries."""
    count = len(items)
    one = int.from_bytes((b"\x01" + bytes(15)) * count, "little")
    mask = one * _MASK
    v0, v1 = one * (k0 ^ 0x736F6D6570736575), one * (k1 ^ 0x646F72616E646F6D)
    v2, v3 = one * (k0 ^ 0x6C7967656E657261), one * (k1 ^ 0x7465646279746573)
    for at in range(0, length + 1, 8):
        words = [item[at : at + 8].ljust(8, b"\x00") for item in items]
        word = int.from_bytes(b"".join([each + bytes(8) for each in words]), "little")
        if at + 8 > length:
            word |= one * ((length & 0xFF) << 56)
        v0, v1, v2, v3 = _lane_rounds(v0, v1, v2, v3 ^ word, 2, mask)
        v0 ^= word
    v0, v1, v2, v3 = _lane_rounds(v0, v1, v2 ^ one * 0xFF, v3, 4, mask)
    packed = (v0 ^ v1 ^ v2 ^ v3).to_bytes(16 * count, "little")
    return [int.from_bytes(packed[at : at + 8], "little") for at in range(0, 16 * count, 16)]


def _lane_rounds(v0: int, v1: int, v2: int, v3: int, count: int, mask: int) -> tuple[int, int, int, int]:
    # What a rotation pushes into the carry bits comes back at the lower end.
    for _ in range(count):
        v0 = (v0 + v1) & mask
        v1 = v1 << 13
        v1 = ((v1 | v1 >> 64) & mask) ^ v0
        v0 = v0 << 32
        v0 = (v0 | v0 >> 64) & mask
        v2 = (v2 + v3) & mask
        v3 = v3 << 16
        v3 = ((v3 | v3 >> 64) & mask) ^ v2
        v0 = (v0 + v3) & mask
        v3 = v3 << 21
        v3 = ((v3 | v3 >> 64) & mask) ^ v0
        v2 = (v2 + v1) & mask
        v1 = v1 << 17
        v1 = ((v1 | v1 >> 64) & mask) ^ v2
        v2 = v2 << 32
        v2 = (v2 | v2 >> 64) & mask
    return v0, v1, v2, v3
