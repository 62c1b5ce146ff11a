"""Light clients: their filters, and blocks as far as these match (BIP37).

Owns: filterload, filteradd, filterclear and merkleblock. Never: announcing transactions.
Source: Bitcoin Core's net_processing.cpp.
"""

from dataclasses import dataclass

from clarion.node.net.bloom_filter import BloomFilter
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.bloom import FilterAdd, FilterLoad, MerkleBlock
from clarion.node.net.peer import ConnectionType, Peer
from clarion.node.net.peer_manager import PeerManager
from clarion.node.net.protocol import ServiceFlags
from clarion.node.primitives.block import Block
from clarion.node.primitives.partial_merkle_tree import merkle_levels, partial_merkle_tree

MAX_ITEM_SIZE = 520
"""Nothing that a transaction can hold in one piece is larger."""


@dataclass(slots=True)
class BloomState:
    """A peer's filter, None while it wants to hear of everything."""

    filter: BloomFilter | None = None


class BloomServing:
    """Belongs to the network thread."""

    def __init__(self, peers: PeerManager) -> None:
        peers.register("filterload", self._load)
        peers.register("filteradd", self._add)
        peers.register("filterclear", self._clear)

    async def _load(self, peer: Peer, payload: bytes) -> None:
        if self._refuses(peer, "filterload"):
            return
        message = FilterLoad.parse(payload)
        bloom = BloomFilter(message.data, message.hashes, message.tweak, message.flags)
        if not bloom.is_within_limits:
            peer.misbehaving("too-large bloom filter")
        elif _hears_of_txs(peer):
            peer.state(BloomState).filter = bloom
            # A peer that did not want transactions when it connected does so now.
            peer.relays_txs = True

    async def _add(self, peer: Peer, payload: bytes) -> None:
        if self._refuses(peer, "filteradd"):
            return
        item = FilterAdd.parse(payload).item
        bloom = peer.state(BloomState).filter
        if len(item) > MAX_ITEM_SIZE or (bloom is None and _hears_of_txs(peer)):
            peer.misbehaving("bad filteradd message")
        elif bloom is not None:
            bloom.add(item)

    async def _clear(self, peer: Peer, payload: bytes) -> None:
        if not self._refuses(peer, "filterclear") and _hears_of_txs(peer):
            peer.state(BloomState).filter = None
            peer.relays_txs = True

    def _refuses(self, peer: Peer, command: str) -> bool:
        if peer.our_services & ServiceFlags.BLOOM:
            return False
        peer.disconnect(f"{command} received despite not offering bloom services")
        return True


def send_filtered_block(peer: Peer, block: Block) -> None:
    """Send a block's header, the proof of the transactions that a peer wants, and these; nothing without a filter."""
    bloom = peer.state(BloomState).filter
    if bloom is None:
        return
    wanted = [tx for tx in block.txs if bloom.matches(tx)]
    tree = partial_merkle_tree(merkle_levels([tx.txid for tx in block.txs]), {tx.txid for tx in wanted})
    peer.send(MerkleBlock(block.header, tree))
    for tx in wanted:
        peer.send(TxMessage(tx, witness=False))


def _hears_of_txs(peer: Peer) -> bool:
    return not peer.is_block_only and peer.connection_type is not ConnectionType.FEELER
