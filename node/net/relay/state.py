"""What the relay of transactions knows of a peer.

Owns: the values. Never: deciding.
"""

from dataclasses import dataclass, field

from clarion.node.net.rolling_filter import RollingFilter
from clarion.node.primitives.ids import Wtxid


def _known() -> RollingFilter:
    return RollingFilter(50_000, 1e-6)


@dataclass(slots=True)
class RelayState:
    """One peer's inventory of transactions. Times are in microseconds, 0 for never."""

    known: RollingFilter = field(default_factory=_known)
    """Hashes that the peer told us or that we told it: wtxids if it relays by them, else txids."""
    to_send: set[Wtxid] = field(default_factory=set)
    """What is to be announced to it."""
    next_inv_us: int = 0
    """When it is told next. Nothing is queued before the first time."""
    last_inv_sequence: int = 1
    """The pool's number when it was told last: it may fetch all that came before."""
    wants_mempool: bool = False
    """It asked for the inventory of the whole pool (BIP35)."""
    min_feerate_sat: int = 0
    """The fee rate in satoshis per kvB below which it wants to hear of nothing (BIP133)."""
    min_feerate_sent_sat: int = 0
    next_feefilter_us: int = 0
