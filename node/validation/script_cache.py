"""Remembers transactions whose scripts are known to be valid.

Owns: the keys and how many are kept. Never: checking.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from clarion.node.consensus.connect import ScriptJob
from clarion.node.primitives.ids import Wtxid

BYTES_PER_ENTRY = 256
"""What one entry takes in memory: key tuple, wtxid, place in the table."""


class ScriptCache:
    """Pairs of (wtxid, flags). The wtxid commits to the spent outputs too, through their txids. Safe from any thread."""

    def __init__(self, max_bytes: int) -> None:
        self._max_entries = max(2, max_bytes // BYTES_PER_ENTRY)
        self._entries: OrderedDict[tuple[Wtxid, int], None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, wtxid: Wtxid, flags: int) -> None:
        """Remember that all scripts of a transaction are valid under `flags`; the oldest entry makes room."""
        with self._lock:
            self._entries.pop((wtxid, flags), None)
            self._entries[wtxid, flags] = None
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def contains(self, wtxid: Wtxid, flags: int) -> bool:
        """Whether the transaction's scripts are known to be valid under exactly these flags."""
        return (wtxid, flags) in self._entries

    def unknown(self, jobs: Sequence[ScriptJob], flags: int) -> Sequence[ScriptJob]:
        """Return the jobs whose scripts still have to be checked under `flags`, in their order."""
        if not self._entries:
            return jobs
        return [job for job in jobs if (job.tx.wtxid, flags) not in self._entries]

    def discard(self, wtxids: Iterable[Wtxid], flags: int) -> None:
        """Forget transactions, for a block has confirmed them."""
        with self._lock:
            for wtxid in wtxids:
                self._entries.pop((wtxid, flags), None)
