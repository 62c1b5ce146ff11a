"""Compact blocks (BIP152): cmpctblock, getblocktxn, blocktxn.

Owns: their encoding, short ids included. Never: filling them from the memory pool.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from clarion.node.errors import DecodeError
from clarion.node.net.messages.blocks import read_tx
from clarion.node.net.messages.message import Message
from clarion.node.net.reader import U64, Reader
from clarion.node.primitives.block import HEADER_SIZE, Block, BlockHeader
from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.ids import BlockHash, Wtxid
from clarion.node.primitives.siphash import siphash
from clarion.node.primitives.transaction import Transaction

SHORT_ID_SIZE = 6
MAX_INDEX = 0xFFFF


class ShortIds:
    """Makes the short ids of one compact block: the low 48 bits of SipHash-2-4, keyed by header and nonce."""

    __slots__ = ("_k0", "_k1")

    def __init__(self, header: BlockHeader, nonce: int) -> None:
        digest = hashlib.sha256(header.serialize() + U64(nonce)).digest()
        self._k0 = int.from_bytes(digest[:8], "little")
        self._k1 = int.from_bytes(digest[8:16], "little")

    def of(self, wtxid: Wtxid) -> int:
        """Return the short id of a transaction."""
        return siphash(self._k0, self._k1, wtxid) & 0xFFFFFFFFFFFF


class Prefilled(NamedTuple):
    """A transaction that is sent whole, with its place in the block."""

    position: int
    tx: Transaction


def _encode_indexes(indexes: Sequence[int]) -> list[bytes]:
    """Return each index as its distance to the one before, less one, as BIP152 counts."""
    before = -1
    encoded = []
    for index in indexes:
        encoded.append(compact_size(index - before - 1))
        before = index
    return encoded


@dataclass(frozen=True, slots=True)
class CompactBlock(Message):
    """A block with short ids in place of the transactions that the receiver is likely to have."""

    command = "cmpctblock"

    header: BlockHeader
    nonce: int
    short_ids: tuple[int, ...]
    prefilled: tuple[Prefilled, ...]

    @property
    def tx_count(self) -> int:
        """How many transactions the block has."""
        return len(self.short_ids) + len(self.prefilled)

    def serialize(self) -> bytes:
        """Return the payload."""
        ids = b"".join([short_id.to_bytes(SHORT_ID_SIZE, "little") for short_id in self.short_ids])
        places = _encode_indexes([each.position for each in self.prefilled])
        whole = b"".join([place + each.tx.raw for place, each in zip(places, self.prefilled, strict=True)])
        head = self.header.serialize() + U64(self.nonce) + compact_size(len(self.short_ids))
        return head + ids + compact_size(len(self.prefilled)) + whole

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        header = BlockHeader.parse(reader.take(HEADER_SIZE))
        nonce = reader.unsigned(8)
        short_ids = reader.vector(lambda r: r.unsigned(SHORT_ID_SIZE))
        prefilled = []
        before = -1
        for _ in range(reader.compact_size()):
            before += reader.compact_size() + 1
            if before > MAX_INDEX:
                raise DecodeError("indexes overflowed 16 bits")
            prefilled.append(Prefilled(before, read_tx(reader)))
        if len(short_ids) + len(prefilled) > MAX_INDEX:
            raise DecodeError("indexes overflowed 16 bits")
        return cls(header, nonce, tuple(short_ids), tuple(prefilled))

    @classmethod
    def of_block(cls, block: Block, nonce: int) -> Self:
        """Return the compact form of a block, with its coinbase whole: nobody else can have that."""
        ids = ShortIds(block.header, nonce)
        return cls(
            block.header, nonce, tuple([ids.of(tx.wtxid) for tx in block.txs[1:]]), (Prefilled(0, block.txs[0]),)
        )


@dataclass(frozen=True, slots=True)
class GetBlockTxn(Message):
    """Asks for transactions of a block by their places, in rising order."""

    command = "getblocktxn"

    block_hash: BlockHash
    indexes: tuple[int, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return self.block_hash + compact_size(len(self.indexes)) + b"".join(_encode_indexes(self.indexes))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        block_hash = BlockHash(reader.hash32())
        indexes = []
        before = -1
        for _ in range(reader.compact_size()):
            before += reader.compact_size(range_check=False) + 1
            if before > MAX_INDEX:
                raise DecodeError("differential value overflow")
            indexes.append(before)
        return cls(block_hash, tuple(indexes))


@dataclass(frozen=True, slots=True)
class BlockTxn(Message):
    """The transactions that were asked for."""

    command = "blocktxn"

    block_hash: BlockHash
    txs: tuple[Transaction, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return self.block_hash + compact_size(len(self.txs)) + b"".join([tx.raw for tx in self.txs])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(BlockHash(reader.hash32()), tuple(reader.vector(read_tx)))
