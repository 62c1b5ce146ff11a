"""What a peer has to expect for an invalid block or header.

Owns: which fault is whose. Never: leaving peers.
Source: Bitcoin Core's MaybePunishNodeForBlock.
"""

import logging

from clarion.node.errors import BlockInvalid
from clarion.node.net.peer import Peer

FORGIVEN = frozenset(("time-too-new", "too-little-chainwork"))
"""May become valid, or was never judged."""
HEADER_FAULTS = frozenset(
    ("high-hash", "bad-diffbits", "time-too-old", "time-timewarp-attack", "bad-prevblk", "prev-blk-not-found")
)

logger = logging.getLogger("clarion.net")


def punish_for_block(peer: Peer, invalid: BlockInvalid, *, via_compact_block: bool, what: str = "") -> None:
    """Hold a peer responsible for what it sent, as far as it could know better.

    A compact block is passed on before it is validated, so its contents are no fault; its header is.
    """
    reason = invalid.reject_reason
    header_fault = reason in HEADER_FAULTS or reason.startswith("bad-version")
    if reason in FORGIVEN:
        pass
    elif reason == "duplicate-invalid":
        if not via_compact_block and not peer.is_inbound:
            peer.misbehaving(what)
            return
    elif header_fault or not via_compact_block:
        peer.misbehaving(what)
        return
    if what:
        logger.debug("peer=%d: %s", peer.id, what)
