"""Blocks that were asked for.

Owns: who was asked for which, and since when. Never: deciding what to ask for.
"""

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.net.peer import Peer
from clarion.node.net.sync.state import SyncState
from clarion.node.primitives.ids import BlockHash


class BlockRequests:
    """All requests of all peers. A block may be asked of several."""

    def __init__(self) -> None:
        self._by_hash: dict[BlockHash, list[Peer]] = {}
        self._in_work: set[BlockHash] = set()
        """Blocks that have come among many and are not in the chain yet: nobody is to be asked for them."""
        self.downloading_from = 0
        """How many peers have an open request."""

    def __len__(self) -> int:
        return sum(map(len, self._by_hash.values()))

    def is_requested(self, block_hash: BlockHash) -> bool:
        """Whether anybody was asked for a block, or it has come and is in work."""
        return block_hash in self._by_hash or self.is_in_work(block_hash)

    def is_in_work(self, block_hash: BlockHash) -> bool:
        """Whether a block has come among many and is on its way into the chain."""
        return block_hash in self._in_work

    def first_peer(self, block_hash: BlockHash) -> Peer | None:
        """Return who was asked for a block first."""
        asked = self._by_hash.get(block_hash)
        return asked[0] if asked else None

    def peers(self, block_hash: BlockHash) -> list[Peer]:
        """Return who was asked for a block, in the order of asking."""
        return list(self._by_hash.get(block_hash, ()))

    def add(self, peer: Peer, entry: BlockIndexEntry, now_us: int) -> None:
        """Note that a block was asked of a peer."""
        state = peer.state(SyncState)
        if entry.hash in state.in_flight:
            return
        state.in_flight[entry.hash] = entry
        if len(state.in_flight) == 1:
            state.downloading_since_us = now_us
            self.downloading_from += 1
        self._by_hash.setdefault(entry.hash, []).append(peer)

    def begin_work(self, block_hash: BlockHash, peer: Peer, now_us: int) -> None:
        """Note that a peer has sent a block: it owes us one less, while the block is in work."""
        self.remove(block_hash, now_us, peer)
        self._in_work.add(block_hash)

    def end_work(self, block_hash: BlockHash) -> None:
        """Note that the work on a block is over."""
        self._in_work.discard(block_hash)

    def remove(self, block_hash: BlockHash, now_us: int, only: Peer | None = None) -> bool:
        """Forget requests for a block, all of them or one peer's; whether there were any."""
        found = [peer for peer in self._by_hash.get(block_hash, ()) if only is None or peer is only]
        for peer in found:
            self._remove(peer, block_hash, now_us)
        return bool(found)

    def remove_peer(self, peer: Peer, now_us: int) -> None:
        """Forget everything that a peer was asked for."""
        for block_hash in list(peer.state(SyncState).in_flight):
            self._remove(peer, block_hash, now_us)

    def _remove(self, peer: Peer, block_hash: BlockHash, now_us: int) -> None:
        state = peer.state(SyncState)
        if next(iter(state.in_flight)) == block_hash:
            # The next one counts from now: it could not come before.
            state.downloading_since_us = max(state.downloading_since_us, now_us)
        del state.in_flight[block_hash]
        state.partial.pop(block_hash, None)
        if not state.in_flight:
            self.downloading_from -= 1
        state.stalling_since_us = 0
        asked = self._by_hash[block_hash]
        asked.remove(peer)
        if not asked:
            del self._by_hash[block_hash]
