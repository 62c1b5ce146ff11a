"""Which blocks a peer has.

Owns: keeping that up to date, and questions about ancestry. Never: asking peers.
"""

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.manager import ChainManager
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.ids import BlockHash


def last_common_ancestor(first: BlockIndexEntry, second: BlockIndexEntry) -> BlockIndexEntry:
    """Return the last block that both chains share."""
    height = min(first.height, second.height)
    one, other = first.ancestor(height), second.ancestor(height)
    assert one is not None
    assert other is not None
    while one is not other:
        # Skips meet at the same heights on both sides.
        if one.skip is not None and other.skip is not None and one.skip is not other.skip:
            one, other = one.skip, other.skip
        else:
            assert one.prev is not None, "all chains share genesis"
            assert other.prev is not None, "all chains share genesis"
            one, other = one.prev, other.prev
    return one


def update_availability(manager: ChainManager, state: SyncState) -> None:
    """Take note of a block that the peer announced before we had its header."""
    if state.last_unknown is None:
        return
    entry = manager.lookup(state.last_unknown)
    if entry is not None:
        _note_best(state, entry)
        state.last_unknown = None


def note_block(manager: ChainManager, state: SyncState, block_hash: BlockHash) -> None:
    """Take note that the peer has a block."""
    update_availability(manager, state)
    entry = manager.lookup(block_hash)
    if entry is not None:
        _note_best(state, entry)
    else:
        state.last_unknown = block_hash


def _note_best(state: SyncState, entry: BlockIndexEntry) -> None:
    if state.best_known is None or entry.chainwork >= state.best_known.chainwork:
        state.best_known = entry


def peer_has_header(state: SyncState, entry: BlockIndexEntry) -> bool:
    """Whether the peer knows a header: it announced it or something on top, or we sent it."""
    for known in (state.best_known, state.best_header_sent):
        if known is not None and known.ancestor(entry.height) is entry:
            return True
    return False
