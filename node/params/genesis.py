"""Genesis blocks.

Owns: how they are built from their message. Never: their proof of work, which tests check.
"""

from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import NULL_HASH, NULL_OUTPOINT
from clarion.node.primitives.merkle import merkle_root
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

GENESIS_REWARD = 50 * 100_000_000

SATOSHI_MESSAGE = b"The Times 03/Jan/2009 Chancellor on brink of second bailout for banks"
SATOSHI_PUBKEY = bytes.fromhex(
    "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb6"
    "49f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f"
)
TESTNET4_MESSAGE = b"03/May/2024 000000000000000000001ebd58c244970b3aa9d783bb001011fbe8ea8e98e00e"

_OP_PUSHDATA1 = 0x4C
_OP_CHECKSIG = 0xAC
# The first bits that difficulty was ever given in and the number 4, as Satoshi's miner wrote them.
_SCRIPT_SIG_HEAD = bytes.fromhex("04ffff001d0104")


def _push(data: bytes) -> bytes:
    if len(data) < _OP_PUSHDATA1:
        return bytes((len(data),)) + data
    return bytes((_OP_PUSHDATA1, len(data))) + data


def make_genesis(
    time: int, nonce: int, bits: int, *, message: bytes = SATOSHI_MESSAGE, pubkey: bytes = SATOSHI_PUBKEY
) -> Block:
    """Return the block whose only transaction pays 50 BTC to `pubkey` and carries `message`. Its output is no coin."""
    coinbase = Transaction(
        1,
        [TxIn(NULL_OUTPOINT, _SCRIPT_SIG_HEAD + _push(message))],
        [TxOut(GENESIS_REWARD, _push(pubkey) + bytes((_OP_CHECKSIG,)))],
    )
    root, _ = merkle_root([coinbase.txid])
    return Block(BlockHeader(1, NULL_HASH, root, time, bits, nonce), [coinbase])
