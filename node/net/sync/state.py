"""What synchronisation knows of a peer.

Owns: the values. Never: deciding.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.sync.partial_block import PartialBlock
from clarion.node.net.sync.presync import HeaderPresync, Phase
from clarion.node.primitives.ids import BlockHash


@dataclass(slots=True)
class SyncState:
    """One peer's chain as far as we know it, and what we ask of it. Times are in microseconds, 0 for never."""

    best_known: BlockIndexEntry | None = None
    """The block with most work that the peer is known to have."""
    last_unknown: BlockHash | None = None
    """A block that it announced and whose header we don't have."""
    last_common: BlockIndexEntry | None = None
    """The last block up to which we have everything that the peer has."""
    best_header_sent: BlockIndexEntry | None = None
    in_flight: dict[BlockHash, BlockIndexEntry] = field(default_factory=dict)
    """Blocks that were asked for, in the order of asking."""
    pending: "deque[tuple[asyncio.Task[None], int]]" = field(default_factory=deque)
    """Blocks that it sent and that are in work, with their sizes."""
    pending_bytes: int = 0
    downloading_since_us: int = 0
    stalling_since_us: int = 0
    sync_started: bool = False
    inv_asked: bool = False
    """It was asked for headers because of a block that it announced, before headers were synced with it."""
    headers_timeout_us: int = 0
    last_getheaders_us: int = 0
    presync: HeaderPresync | None = None
    """Headers of it that have not shown enough work yet."""
    prefers_headers: bool = False
    sendheaders_sent: bool = False
    to_announce: list[BlockHash] = field(default_factory=list)
    """New blocks of the active chain that the peer has not been told of."""
    partial: dict[BlockHash, PartialBlock] = field(default_factory=dict)
    """Blocks in flight of which a compact form came."""
    provides_compact: bool = False
    wants_compact: bool = False
    """It asked for compact blocks unasked (BIP152's high-bandwidth mode)."""
    sends_compact: bool = False
    """We asked it for the same."""
    last_announcement: int = 0
    """When it last told us of a header with more work than our tip, in seconds."""
    protected: bool = False
    """It is not left for lagging behind."""
    catch_up_to: BlockIndexEntry | None = None
    """The tip that we had when the peer's chain was found behind ours, while it is."""
    catch_up_by_us: int = 0
    catch_up_asked: bool = False
    """The time is over and it was asked for headers once more."""
    continuation: BlockHash | None = None
    """When the peer asks for this block, it is told of our tip: it is working through a long `inv`."""


def presync_height(state: SyncState) -> int:
    """Return how far the first pass over a peer's headers has come, -1 while there is none."""
    presync = state.presync
    return presync.height if presync is not None and presync.phase is Phase.PRESYNC else -1


def is_preferred(peer: Peer) -> bool:
    """Whether blocks are rather fetched from this peer than from others: we chose it, or trust it."""
    trusted = not peer.is_inbound or peer.may(Permission.NO_BAN)
    return trusted and peer.connection_type is not ConnectionType.ADDR_FETCH and can_serve_blocks(peer)


def can_serve_blocks(peer: Peer) -> bool:
    """Whether the peer has blocks at all, if only the last ones."""
    return bool(peer.services & (ServiceFlags.NETWORK | ServiceFlags.NETWORK_LIMITED))


def is_limited(peer: Peer) -> bool:
    """Whether the peer has only the last blocks (BIP159)."""
    return not peer.services & ServiceFlags.NETWORK and bool(peer.services & ServiceFlags.NETWORK_LIMITED)


def can_serve_witnesses(peer: Peer) -> bool:
    """Whether the peer's blocks come with witnesses."""
    return bool(peer.services & ServiceFlags.WITNESS)
