"""Tips that the active chain could move to.

Owns: the order of candidates, by work and then by who came first. Never: judging them.
"""

from bisect import bisect_left, insort

from clarion.node.chain.block_index import BlockIndexEntry

_Key = tuple[int, int, int]


def work_key(entry: BlockIndexEntry) -> tuple[int, int]:
    """Return the key by which a better tip compares greater: more work, then the lower sequence id."""
    return entry.chainwork, -entry.sequence_id


class Candidates:
    """Entries with their data and valid so far, no worse than the tip. Best last."""

    def __init__(self) -> None:
        self._keys: list[_Key] = []
        self._by_key: dict[_Key, BlockIndexEntry] = {}
        self._key_of: dict[bytes, _Key] = {}
        self._arrivals = 0

    def __contains__(self, entry: BlockIndexEntry) -> bool:
        return entry.hash in self._key_of

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, entry: BlockIndexEntry) -> None:
        """Insert an entry under its present work and sequence id; nothing happens if it is there."""
        if entry.hash in self._key_of:
            return
        self._arrivals += 1
        key = (*work_key(entry), -self._arrivals)
        insort(self._keys, key)
        self._by_key[key] = entry
        self._key_of[entry.hash] = key

    def discard(self, entry: BlockIndexEntry) -> None:
        """Take an entry out if it is there. Call it before its sequence id changes."""
        key = self._key_of.pop(entry.hash, None)
        if key is not None:
            del self._keys[bisect_left(self._keys, key)]
            del self._by_key[key]

    def best(self) -> BlockIndexEntry | None:
        """Return the candidate with the most work, None if there is none."""
        return self._by_key[self._keys[-1]] if self._keys else None

    def prune(self, tip: BlockIndexEntry) -> None:
        """Drop every candidate that is worse than `tip`."""
        end = bisect_left(self._keys, (*work_key(tip), -self._arrivals - 1))
        for key in self._keys[:end]:
            del self._key_of[self._by_key.pop(key).hash]
        del self._keys[:end]
