"""SipHash-2-4: a keyed hash of 64 bits.

Owns: the function. Never: keys.
Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF".
"""

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
