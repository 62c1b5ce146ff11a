"""Block headers and blocks: decoding, encoding and hashes.

Owns: the 80-byte header and the list of transactions. Never: whether a block is valid.
"""

import struct
from collections.abc import Callable

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.codec import compact_size, read_compact_size
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.primitives.transaction import WITNESS_SCALE_FACTOR, Transaction, read_transaction

HEADER_SIZE = 80

_HEADER = struct.Struct("<i32s32sIII")


class BlockHeader:
    """The 80 bytes that are hashed. `version` is int32, `time`, `bits` and `nonce` are uint32, hashes internal."""

    __slots__ = ("bits", "hash", "merkle_root", "nonce", "prev_hash", "time", "version")

    def __init__(self, version: int, prev_hash: bytes, merkle_root: bytes, time: int, bits: int, nonce: int) -> None:
        self.version = version
        self.prev_hash = BlockHash(prev_hash)
        self.merkle_root = merkle_root
        self.time = time
        self.bits = bits
        self.nonce = nonce
        self.hash = BlockHash(sha256d(self.serialize()))

    @classmethod
    def parse(cls, data: bytes, offset: int = 0) -> "BlockHeader":
        """Return the header at `offset`. Raises DecodeError if fewer than 80 bytes are left."""
        if len(data) - offset < HEADER_SIZE:
            raise EndOfData(f"a block header has {HEADER_SIZE} bytes, {max(0, len(data) - offset)} are left")
        header = cls.__new__(cls)
        (header.version, prev, header.merkle_root, header.time, header.bits, header.nonce) = _HEADER.unpack_from(
            data, offset
        )
        header.prev_hash = BlockHash(prev)
        header.hash = BlockHash(sha256d(data[offset : offset + HEADER_SIZE]))
        return header

    def serialize(self) -> bytes:
        """Return the 80 header bytes."""
        return _HEADER.pack(self.version, self.prev_hash, self.merkle_root, self.time, self.bits, self.nonce)

    def __repr__(self) -> str:
        return f"BlockHeader({hash_to_hex(self.hash)})"


class Block:
    """A header with its transactions. `raw` is the full encoding, `base_size` its length without witnesses.

    `legacy_sigops` is a note of `consensus.sigops`, None until it has counted.
    """

    __slots__ = ("base_size", "header", "legacy_sigops", "raw", "txs")

    def __init__(self, header: BlockHeader, txs: list[Transaction]) -> None:
        """Build a block from its parts; it is encoded at once."""
        self.header = header
        self.txs = txs
        self.legacy_sigops: list[int] | None = None
        count = compact_size(len(txs))
        self.raw = header.serialize() + count + b"".join([tx.raw for tx in txs])
        self.base_size = HEADER_SIZE + len(count) + sum([tx.base_size for tx in txs])

    @classmethod
    def parse(cls, data: bytes) -> "Block":
        """Return the block that `data` holds from its first to its last byte. Raises DecodeError."""
        block, end = parse_block(data)
        if end != len(data):
            raise DecodeError(f"{len(data) - end} bytes behind the block's end")
        return block

    @property
    def hash(self) -> BlockHash:
        """The header's hash, internal order."""
        return self.header.hash

    @property
    def weight(self) -> int:
        """Weight in weight units (BIP141)."""
        return self.base_size * (WITNESS_SCALE_FACTOR - 1) + len(self.raw)

    def __repr__(self) -> str:
        return f"Block({hash_to_hex(self.hash)}, {len(self.txs)} transactions)"


KnownTransaction = Callable[[bytes], Transaction | None]
"""Returns a transaction at hand that spends this outpoint (36 bytes), if there is one."""


def parse_block(data: bytes, offset: int = 0, known: KnownTransaction | None = None) -> tuple[Block, int]:
    """Return (block, offset behind it) of the block at `offset`. Raises DecodeError.

    `known` is asked for the transactions, which need not be decoded again then.
    """
    block = Block.__new__(Block)
    block.header = BlockHeader.parse(data, offset)
    count, at = read_compact_size(data, offset + HEADER_SIZE)
    base_size = at - offset
    txs = []
    try:
        for _ in range(count):
            found = known(_first_prevout(data, at)) if known is not None else None
            if found is not None and data.startswith(found.raw, at):
                tx = found
                at += len(tx.raw)
            else:
                tx, at = read_transaction(data, at, True)
            base_size += tx.base_size
            txs.append(tx)
    except (IndexError, struct.error):
        raise EndOfData(f"data ends inside transaction {len(txs)} of the block at byte {at}") from None
    block.txs = txs
    block.legacy_sigops = None
    block.raw = data[offset:at]
    block.base_size = base_size
    return block, at


def _first_prevout(data: bytes, at: int) -> bytes:
    """Return what the first input of the transaction at `at` spends, if it has fewer than 253 inputs."""
    # Behind the version, a zero and a flag mark a transaction with witnesses (BIP144); the count of inputs follows.
    start = at + (5 if data[at + 4] else 7)
    return data[start : start + 36]
