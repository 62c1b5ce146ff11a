"""Blocks to mine on top of the tip.

Owns: coinbase, commitment, version, time and bits of a new block. Never: choosing transactions, finding a nonce.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clarion.node.consensus.constants import MAX_TIMEWARP
from clarion.node.consensus.deployments import buried_active_after
from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.pow import next_work_required
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.consensus.versionbits import ThresholdState, VersionBits
from clarion.node.consensus.witness import COMMITMENT_HEADER, witness_commitment_index
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import NULL_HASH, NULL_OUTPOINT
from clarion.node.primitives.merkle import merkle_root
from clarion.node.primitives.opcodes import OP_0
from clarion.node.primitives.script import push_number
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut

COINBASE_VERSION = 2
NONFINAL_SEQUENCE = 0xFFFFFFFE
"""Makes the coinbase's lock time count."""
RESERVED_VALUE = bytes(32)
"""The coinbase's witness, which the commitment covers (BIP141)."""


@dataclass(frozen=True, slots=True)
class BlockTemplate:
    """A block that is valid on top of `prev` but for its nonce, and what miners are told about it."""

    block: Block
    prev: ChainPosition
    min_time: int
    """The earliest time that the block may be given (Unix seconds)."""
    fees: Sequence[int]
    """Fee of each transaction but the coinbase, in satoshis."""
    sigop_costs: Sequence[int]
    """Sigop cost of each transaction but the coinbase."""
    deployments: Mapping[str, ThresholdState]
    """State of each signalled deployment for this block."""
    pool_updates: int = 0
    """How often the pool had changed when the transactions were chosen."""

    @property
    def height(self) -> int:
        """Height of the block."""
        return self.prev.height + 1

    def header_at(self, now: int, params: ChainParams) -> BlockHeader:
        """Return the header with the time `now` (Unix seconds) if that is later, and the bits that go with it."""
        header = self.block.header
        time = max(header.time, self.min_time, now)
        # Only testnet's rule makes the difficulty depend on the time.
        bits = next_work_required(self.prev, time, params) if params.allow_min_difficulty else header.bits
        return BlockHeader(header.version, header.prev_hash, header.merkle_root, time, bits, 0)


def build_block(
    prev: ChainPosition,
    params: ChainParams,
    now: int,
    script_pubkey: bytes,
    txs: Sequence[Transaction] = (),
    *,
    fees: int = 0,
    version: int | None = None,
) -> Block:
    """Return a block on top of `prev` with nonce 0 that pays subsidy and `fees` (satoshis) to `script_pubkey`.

    `now` in Unix seconds; the block's time is later where median time past or BIP94 demand it. `version` replaces the
    one that signals for the chain's deployments. The transactions are taken as they are.
    """
    time = max(minimum_time(prev, params), now)
    bits = next_work_required(prev, time, params)
    if version is None:
        version = VersionBits(params).block_version(prev)
    coinbase = _coinbase(prev.height + 1, params, script_pubkey, fees, txs)
    if buried_active_after(prev, params, "segwit"):
        coinbase = _with_reserved_value(coinbase)
    all_txs = [coinbase, *txs]
    root, _ = merkle_root([tx.txid for tx in all_txs])
    return Block(BlockHeader(version, prev.hash, root, time, bits, 0), all_txs)


def minimum_time(prev: ChainPosition, params: ChainParams) -> int:
    """Return the earliest time of a block on top of `prev`; BIP94's rule is kept on every network, as in the reference."""
    earliest = prev.median_time_past() + 1
    if (prev.height + 1) % params.difficulty_interval == 0:
        earliest = max(earliest, prev.time - MAX_TIMEWARP)
    return earliest


def complete_witness(block: Block, prev: ChainPosition, params: ChainParams) -> Block:
    """Return `block` with the coinbase's witness if it commits to witnesses but was sent without that one.

    The reference's UpdateUncommittedBlockStructures: neither txid nor header change, so no hash does.
    """
    if witness_commitment_index(block) is None or not buried_active_after(prev, params, "segwit"):
        return block
    coinbase = block.txs[0]
    if coinbase.has_witness or not coinbase.inputs:
        return block
    return Block(block.header, [_with_reserved_value(coinbase), *block.txs[1:]])


def _coinbase(
    height: int, params: ChainParams, script_pubkey: bytes, fees: int, txs: Sequence[Transaction]
) -> Transaction:
    # The script must have two bytes at least; one byte says the first sixteen heights (BIP34).
    script_sig = push_number(height) + (bytes((OP_0,)) if height <= 16 else b"")
    root, _ = merkle_root([NULL_HASH, *[tx.wtxid for tx in txs]])
    outputs = [
        TxOut(block_subsidy(height, params) + fees, script_pubkey),
        TxOut(0, COMMITMENT_HEADER + sha256d(root + RESERVED_VALUE)),
    ]
    return Transaction(COINBASE_VERSION, [TxIn(NULL_OUTPOINT, script_sig, NONFINAL_SEQUENCE)], outputs, height - 1)


def _with_reserved_value(coinbase: Transaction) -> Transaction:
    first = coinbase.inputs[0]
    txin = TxIn(first.prevout, first.script_sig, first.sequence, (RESERVED_VALUE,))
    return Transaction(coinbase.version, [txin, *coinbase.inputs[1:]], coinbase.outputs, coinbase.lock_time)
