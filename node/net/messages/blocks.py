"""Blocks, headers, transactions, and how they are asked for: getheaders, getblocks, headers, block, tx.

Owns: their encoding. Never: judging them.
"""

from dataclasses import dataclass
from typing import Self

from clarion.node.errors import EndOfData
from clarion.node.net.messages.message import Message
from clarion.node.net.protocol import PROTOCOL_VERSION
from clarion.node.net.reader import U32, Reader
from clarion.node.primitives.block import HEADER_SIZE, Block, BlockHeader, parse_block
from clarion.node.primitives.codec import compact_size
from clarion.node.primitives.ids import NULL_HASH, BlockHash
from clarion.node.primitives.transaction import Transaction, parse_transaction

NO_STOP = BlockHash(NULL_HASH)
"""As many as there are."""


@dataclass(frozen=True, slots=True)
class LocatorMessage(Message):
    """A way from the sender's tip to genesis, sparser and sparser, and where to stop."""

    locator: tuple[BlockHash, ...]
    stop: BlockHash = NO_STOP
    version: int = PROTOCOL_VERSION

    def serialize(self) -> bytes:
        """Return the payload."""
        return U32(self.version) + compact_size(len(self.locator)) + b"".join(self.locator) + self.stop

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message. A locator that is too long is misbehaviour, which the receiver judges."""
        version = reader.unsigned(4)
        locator = tuple(map(BlockHash, reader.vector(Reader.hash32)))
        return cls(locator, BlockHash(reader.hash32()), version)


@dataclass(frozen=True, slots=True)
class GetHeaders(LocatorMessage):
    """Asks for up to 2,000 headers behind the locator's first known block."""

    command = "getheaders"


@dataclass(frozen=True, slots=True)
class GetBlocks(LocatorMessage):
    """Asks for the inventory of up to 500 blocks behind the locator's first known block."""

    command = "getblocks"


def _read_header(reader: Reader) -> BlockHeader:
    header = BlockHeader.parse(reader.take(HEADER_SIZE))
    reader.compact_size()  # the number of transactions, always 0
    return header


@dataclass(frozen=True, slots=True)
class Headers(Message):
    """Headers in order."""

    command = "headers"

    headers: tuple[BlockHeader, ...]

    def serialize(self) -> bytes:
        """Return the payload."""
        return compact_size(len(self.headers)) + b"".join([header.serialize() + b"\x00" for header in self.headers])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message. More than 2,000 headers are misbehaviour, which the receiver judges by `count_of`."""
        return cls(tuple(reader.vector(_read_header)))

    @staticmethod
    def count_of(payload: bytes) -> int:
        """Return how many headers a payload announces, without reading them. Raises DecodeError."""
        return Reader(payload).compact_size()


@dataclass(frozen=True, slots=True)
class BlockMessage(Message):
    """A block. With `witness` False it is sent as nodes before segwit know it."""

    command = "block"

    block: Block
    witness: bool = True

    def serialize(self) -> bytes:
        """Return the payload."""
        if self.witness:
            return self.block.raw
        txs = self.block.txs
        body = b"".join([tx.serialize_without_witness() for tx in txs])
        return self.block.header.serialize() + compact_size(len(txs)) + body

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        block, reader.at = parse_block(reader.data, reader.at)
        return cls(block)


@dataclass(frozen=True, slots=True)
class TxMessage(Message):
    """A transaction. With `witness` False it is sent without its witness."""

    command = "tx"

    tx: Transaction
    witness: bool = True

    def serialize(self) -> bytes:
        """Return the payload."""
        return self.tx.raw if self.witness else self.tx.serialize_without_witness()

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message."""
        return cls(read_tx(reader))


def read_tx(reader: Reader) -> Transaction:
    """Return a transaction with its witness. Raises DecodeError."""
    try:
        tx, reader.at = parse_transaction(reader.data, reader.at)
    except IndexError:
        raise EndOfData(f"data ends inside a transaction at byte {reader.at}") from None
    return tx
