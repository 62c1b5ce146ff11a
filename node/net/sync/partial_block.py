"""A block of which a compact form came: its transactions from the memory pool, and those that are missing.

Owns: matching short ids and putting the block together. Never: asking peers, validation.
Source: BIP152; Bitcoin Core's src/blockencodings.cpp.
"""

from collections.abc import Iterable, Sequence
from enum import Enum

from clarion.node.consensus.constants import MAX_BLOCK_WEIGHT
from clarion.node.consensus.witness import find_mutation
from clarion.node.net.messages.compact import CompactBlock, ShortIds
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction

MIN_SERIALIZABLE_TRANSACTION_WEIGHT = 40


class Filling(Enum):
    """What came of an attempt."""

    OK = "ok"
    INVALID = "the peer sent nonsense"
    FAILED = "two transactions have the same short id"


class PartialBlock:
    """The transactions of one block that are at hand. `missing` says which are not."""

    def __init__(self) -> None:
        self._header: BlockHeader | None = None
        self._txs: list[Transaction | None] = []

    @property
    def is_used(self) -> bool:
        """Whether it was filled in vain: another attempt of the same peer is not listened to."""
        return self._header is None

    @property
    def prev_hash(self) -> BlockHash:
        """The hash of the block's parent."""
        assert self._header is not None
        return self._header.prev_hash

    @property
    def missing(self) -> list[int]:
        """The places of transactions that have to be asked for."""
        return [place for place, tx in enumerate(self._txs) if tx is None]

    def begin(self, compact: CompactBlock, known: Iterable[Transaction], extra: Iterable[Transaction]) -> Filling:
        """Match a compact block with what is at hand: the pool's transactions, and some that just left or missed it."""
        count = compact.tx_count
        if not count or count > MAX_BLOCK_WEIGHT // MIN_SERIALIZABLE_TRANSACTION_WEIGHT:
            return Filling.INVALID
        txs: list[Transaction | None] = [None] * count
        for number, (place, tx) in enumerate(compact.prefilled):
            if not tx.inputs and not tx.outputs:
                return Filling.INVALID
            # A place beyond the short ids and what was sent whole leaves a hole that nothing can fill.
            if place > len(compact.short_ids) + number:
                return Filling.INVALID
            txs[place] = tx
        places = [place for place, tx in enumerate(txs) if tx is None]
        place_of = dict(zip(compact.short_ids, places, strict=True))
        if len(place_of) != len(compact.short_ids):
            return Filling.FAILED
        self._match(compact, place_of, txs, known, extra)
        self._header, self._txs = compact.header, txs
        return Filling.OK

    @staticmethod
    def _match(
        compact: CompactBlock,
        place_of: dict[int, int],
        txs: list[Transaction | None],
        known: Iterable[Transaction],
        extra: Iterable[Transaction],
    ) -> None:
        ids = ShortIds(compact.header, compact.nonce)
        found: dict[int, Transaction | None] = {}
        for source in (known, extra):
            for tx in source:
                if len(found) == len(place_of):
                    break
                place = place_of.get(ids.of(tx.wtxid))
                if place is None:
                    continue
                before = found.get(place, tx)
                # Two that match: which one is meant has to be asked.
                found[place] = tx if before is not None and before.wtxid == tx.wtxid else None
        for place, match in found.items():
            txs[place] = match

    def fill(self, missing: Sequence[Transaction], *, segwit_active: bool) -> tuple[Filling, Block | None]:
        """Return the block with the transactions that were asked for. It can be called once."""
        header, txs = self._header, self._txs
        if header is None:
            return Filling.INVALID, None
        places = self.missing
        if len(missing) != len(places):
            if len(missing) > len(places):
                self._header, self._txs = None, []
            return Filling.INVALID, None
        self._header, self._txs = None, []
        for place, tx in zip(places, missing, strict=True):
            txs[place] = tx
        block = Block(header, [tx for tx in txs if tx is not None])
        return (Filling.OK, block) if find_mutation(block, segwit_active) is None else (Filling.FAILED, None)
