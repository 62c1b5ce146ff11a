"""One remembered address.

Owns: what is known of it, and how good it looks. Never: where it is kept.
Source: Bitcoin Core's src/addrman.{h,cpp} (AddrInfo).
"""

from dataclasses import dataclass

from clarion.node.net.address import Endpoint, NetAddress
from clarion.node.net.messages.addresses import TimedAddress

HORIZON_S = 30 * 24 * 60 * 60
_RETRIES = 3
_MAX_FAILURES = 10
_MIN_FAIL_S = 7 * 24 * 60 * 60
_RECENT_S = 10 * 60


@dataclass(slots=True, eq=False)
class AddressEntry:
    """Times are in Unix seconds, 0 for never. The last five are not stored."""

    endpoint: Endpoint
    services: int
    time: int
    """When it was seen last, as far as we know."""
    source: NetAddress
    """Who first told us of it."""
    last_success: int = 0
    attempts: int = 0
    """Tries since the last success."""
    last_try: int = 0
    last_counted_try: int = 0
    references: int = 0
    """In how many buckets of the new table it is."""
    is_tried: bool = False
    random_position: int = -1

    def is_terrible(self, now: int) -> bool:
        """Whether it may be forgotten: old, from the future, or tried in vain too often."""
        if now - self.last_try <= 60:
            return False
        if self.time > now + _RECENT_S or now - self.time > HORIZON_S:
            return True
        if not self.last_success and self.attempts >= _RETRIES:
            return True
        return now - self.last_success > _MIN_FAIL_S and self.attempts >= _MAX_FAILURES

    def chance(self, now: int) -> float:
        """Return how likely it should be chosen compared with others."""
        recent = 0.01 if now - self.last_try < _RECENT_S else 1.0
        return recent * 0.66 ** min(self.attempts, 8)

    def shown(self) -> TimedAddress:
        """Return what others may be told."""
        return TimedAddress(self.time, self.services, self.endpoint)
