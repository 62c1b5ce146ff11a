"""Transactions for peers that ask.

Owns: what a peer may have: what was in the pool when it was told last, and the last block's transactions. Never: judging.
Source: Bitcoin Core's net_processing.cpp (FindTxForGetData).
"""

from collections.abc import Sequence

from clarion.node.mempool.service import MempoolService
from clarion.node.net.messages.blocks import TxMessage
from clarion.node.net.messages.inventory import Inv
from clarion.node.net.peer import Peer
from clarion.node.net.protocol import InvType
from clarion.node.net.relay.request_tracker import GenTxid
from clarion.node.net.relay.state import RelayState
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import Txid, Wtxid
from clarion.node.primitives.transaction import Transaction


class TransactionServing:
    """Answers getdata for transactions."""

    def __init__(self, mempool: MempoolService) -> None:
        self._mempool = mempool
        self._last_txids: dict[bytes, Transaction] = {}
        self._last_wtxids: dict[bytes, Transaction] = {}

    def note_block(self, block: Block) -> None:
        """Keep a block's transactions: they may just have been announced."""
        self._last_txids = {tx.txid: tx for tx in block.txs}
        self._last_wtxids = {tx.wtxid: tx for tx in block.txs}

    def send(self, peer: Peer, item: Inv) -> bool:
        """Answer one item; False if the peer has to be told that we don't have it."""
        # Who wants no announcements gets no answers.
        if not peer.relays_txs:
            return True
        tx = self._find(peer, GenTxid(item.hash, item.type == InvType.WTX))
        if tx is None:
            return False
        self._mempool.broadcast_done(tx.txid)
        peer.send(TxMessage(tx, witness=item.type != InvType.TX))
        return True

    def _find(self, peer: Peer, gtxid: GenTxid) -> Transaction | None:
        pool = self._mempool.pool
        entry = pool.get_by_wtxid(Wtxid(gtxid.hash)) if gtxid.by_wtxid else pool.get(Txid(gtxid.hash))
        # What came since the last announcement would tell when it came.
        if entry is not None and entry.sequence < peer.state(RelayState).last_inv_sequence:
            return entry.tx
        return (self._last_wtxids if gtxid.by_wtxid else self._last_txids).get(gtxid.hash)

    def missing(self, peer: Peer, items: Sequence[Inv]) -> list[Inv]:
        """Answer items one after the other and return those that we don't have."""
        return [item for item in items if not self.send(peer, item)]
