"""Bloom filters: what a light client wants to hear of, said with some vagueness (BIP37).

Owns: the filter, and which transactions it matches. Never: peers.
Source: Bitcoin Core's src/common/bloom.cpp and src/hash.cpp (MurmurHash3).
"""

from clarion.node.primitives.script import read_op
from clarion.node.primitives.templates import ScriptType, solve
from clarion.node.primitives.transaction import Transaction

MAX_SIZE = 36_000
MAX_HASHES = 50
UPDATE_NONE, UPDATE_ALL, UPDATE_KEYS_ONLY = 0, 1, 2
_UPDATE_MASK = 3
_SEED_STEP = 0xFBA4C795
_MASK = 0xFFFFFFFF


class BloomFilter:
    """A filter as a peer sent it. What it matches may be added to it, as `flags` say."""

    def __init__(self, data: bytes, hashes: int, tweak: int, flags: int) -> None:
        self._data = bytearray(data)
        self._hashes = hashes
        self._tweak = tweak
        self._flags = flags & _UPDATE_MASK

    @property
    def is_within_limits(self) -> bool:
        """Whether it is small enough to be served."""
        return len(self._data) <= MAX_SIZE and self._hashes <= MAX_HASHES

    def add(self, item: bytes) -> None:
        """Match an item from now on."""
        if self._data:
            for at in self._positions(item):
                self._data[at >> 3] |= 1 << (at & 7)

    def __contains__(self, item: bytes) -> bool:
        """Whether an item seems to be in it; an empty filter matches everything."""
        return not self._data or all(self._data[at >> 3] >> (at & 7) & 1 for at in self._positions(item))

    def matches(self, tx: Transaction) -> bool:
        """Whether a transaction is wanted; outputs that match are added, so that what spends them is wanted too."""
        if not self._data:
            return True
        found = tx.txid in self
        for index, output in enumerate(tx.outputs):
            if self._has_data_of(output.script_pubkey):
                found = True
                if self._takes(output.script_pubkey):
                    self.add(_outpoint_bytes(tx.txid, index))
        return found or any(each.prevout in self or self._has_data_of(each.script_sig) for each in tx.inputs)

    def _takes(self, script_pubkey: bytes) -> bool:
        if self._flags != UPDATE_KEYS_ONLY:
            return self._flags == UPDATE_ALL
        return solve(script_pubkey).type in (ScriptType.PUBKEY, ScriptType.MULTISIG)

    def _has_data_of(self, script: bytes) -> bool:
        """Whether any item that a script pushes is in the filter, up to where the script is broken."""
        at = 0
        while (op := read_op(script, at)) is not None:
            if op[1] and op[1] in self:
                return True
            at = op[2]
        return False

    def _positions(self, item: bytes) -> list[int]:
        bits = 8 * len(self._data)
        return [murmur3((number * _SEED_STEP + self._tweak) & _MASK, item) % bits for number in range(self._hashes)]


def _outpoint_bytes(txid: bytes, index: int) -> bytes:
    return txid + index.to_bytes(4, "little")


def murmur3(seed: int, data: bytes) -> int:
    """Return MurmurHash3 (x86, 32 bits) of `data`."""
    h = seed
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        h ^= _scrambled(int.from_bytes(data[at : at + 4], "little"))
        h = (h << 13 & _MASK) | h >> 19
        h = (5 * h + 0xE6546B64) & _MASK
    if whole < len(data):
        h ^= _scrambled(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def _scrambled(k: int) -> int:
    k = k * 0xCC9E2D51 & _MASK
    k = (k << 15 & _MASK) | k >> 17
    return k * 0x1B873593 & _MASK
