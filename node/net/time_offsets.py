"""What other nodes' clocks say about ours.

Owns: the last differences. Never: changing the clock.
Source: Bitcoin Core's src/node/timeoffsets.cpp.
"""

from collections import deque

_MOST = 50
_LEAST = 5
WARN_S = 10 * 60


class TimeOffsets:
    """How far the clocks of the nodes that we connected to are ahead of ours, in seconds."""

    def __init__(self) -> None:
        self._offsets: deque[int] = deque(maxlen=_MOST)

    def add(self, offset_s: int) -> None:
        """Take in what one node said."""
        self._offsets.append(offset_s)

    @property
    def median_s(self) -> int:
        """The difference in the middle, 0 as long as there are too few to say."""
        if len(self._offsets) < _LEAST:
            return 0
        return sorted(self._offsets)[len(self._offsets) // 2]

    @property
    def warning(self) -> str:
        """What the operator is told if our clock seems to be wrong, else nothing."""
        if abs(self.median_s) <= WARN_S:
            return ""
        return (
            f"Your computer's date and time appear to be more than {WARN_S // 60} minutes out of sync with the network, "
            "this may lead to consensus failure. After you've confirmed your computer's clock, this message "
            "should no longer appear when you restart your node. Without a restart, it should stop showing "
            "automatically after you've connected to a sufficient number of new outbound peers, which may "
            "take some time. You can inspect the `timeoffset` field of the `getpeerinfo` and `getnetworkinfo` "
            "RPC methods to get more info."
        )
