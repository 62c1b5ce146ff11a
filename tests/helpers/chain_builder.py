"""Builds regtest blocks, right and wrong ones, without the code under test: its constants are declared again here.

Owns: coinbases, merkle roots, witness commitments and proof of work. Never: validation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import NULL_OUTPOINT, OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.signing import push, sha256d, u32

COIN = 100_000_000
MAX_MONEY = 21_000_000 * COIN
INITIAL_SUBSIDY = 50 * COIN
REGTEST_HALVING = 150
COINBASE_MATURITY = 100
MAX_BLOCK_WEIGHT = 4_000_000
MAX_BLOCK_SIGOPS_COST = 80_000
MEDIAN_TIME_SPAN = 11
MAX_FUTURE_BLOCK_TIME = 2 * 60 * 60
REGTEST_BITS = 0x207FFFFF
VERSION = 0x20000000
SPACING = 600
NO_SEQUENCE = 0xFFFFFFFF

OP_TRUE = b"\x51"
COMMITMENT_PREFIX = bytes.fromhex("6a24aa21a9ed")
WITNESS_RESERVED = bytes(32)

GENESIS_HASH = bytes.fromhex("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206")[::-1]
GENESIS_TIME = 1296688602


@dataclass(frozen=True)
class Built:
    """A block with its place; `prev` is None for what stands for genesis."""

    hash: bytes
    height: int
    time: int
    prev: "Built | None" = field(default=None, repr=False)
    block: Block | None = field(default=None, repr=False)

    @property
    def txs(self) -> Sequence[Transaction]:
        """The block's transactions."""
        assert self.block is not None
        return self.block.txs

    def coinbase_output(self) -> tuple[OutPoint, TxOut]:
        """Return the first output of the coinbase with its outpoint."""
        return spendable(self.txs[0], 0)

    def median_time_past(self) -> int:
        """Return the median of the last eleven times."""
        times: list[int] = []
        at: Built | None = self
        while at is not None and len(times) < MEDIAN_TIME_SPAN:
            times.append(at.time)
            at = at.prev
        return sorted(times)[len(times) // 2]


def genesis() -> Built:
    """Return what the first block builds upon."""
    return Built(GENESIS_HASH, 0, GENESIS_TIME)


def spendable(tx: Transaction, index: int) -> tuple[OutPoint, TxOut]:
    """Return (outpoint, output) of an output."""
    return OutPoint(tx.txid + u32(index)), tx.outputs[index]


def subsidy(height: int) -> int:
    """Return regtest's subsidy in satoshis."""
    return INITIAL_SUBSIDY >> (height // REGTEST_HALVING)


def height_push(height: int) -> bytes:
    """Return BIP34's push of the height."""
    if height <= 16:
        return bytes((0x50 + height,)) if height else b"\x00"
    number = height.to_bytes(4, "little").rstrip(b"\x00")
    return push(number + b"\x00" if number[-1] & 0x80 else number)


def merkle(hashes: Sequence[bytes]) -> bytes:
    """Return the merkle root."""
    level = list(hashes)
    while len(level) > 1:
        level += level[-1:] if len(level) % 2 else []
        level = [sha256d(level[i] + level[i + 1]) for i in range(0, len(level), 2)]
    return level[0]


def commitment_output(txs: Sequence[Transaction], reserved: bytes = WITNESS_RESERVED) -> TxOut:
    """Return the coinbase's output that commits to the witnesses of `txs` (without the coinbase)."""
    root = merkle([bytes(32), *(tx.wtxid for tx in txs)])
    return TxOut(0, COMMITMENT_PREFIX + sha256d(root + reserved))


def make_coinbase(
    height: int,
    *,
    value: int | None = None,
    script: bytes = OP_TRUE,
    script_sig: bytes | None = None,
    more_outputs: Sequence[TxOut] = (),
    witness: tuple[bytes, ...] = (),
    lock_time: int = 0,
    sequence: int = NO_SEQUENCE,
    extra_nonce: int = 0,
) -> Transaction:
    """Return a coinbase that pays `value` (default: the subsidy) to `script`."""
    signature = height_push(height) + push(u32(extra_nonce)) if script_sig is None else script_sig
    outputs = [TxOut(subsidy(height) if value is None else value, script), *more_outputs]
    return Transaction(2, [TxIn(NULL_OUTPOINT, signature, sequence, witness)], outputs, lock_time)


def target(bits: int) -> int:
    """Return the target that `bits` stands for."""
    return (bits & 0x7FFFFF) << 8 * ((bits >> 24) - 3)


def solve(
    version: int, prev: bytes, root: bytes, time: int, bits: int = REGTEST_BITS, *, good: bool = True
) -> BlockHeader:
    """Return a header whose hash meets `bits` (or, with good=False, does not)."""
    limit = target(bits)
    for nonce in range(1 << 32):
        header = BlockHeader(version, prev, root, time, bits, nonce)
        if (int.from_bytes(header.hash, "little") <= limit) is good:
            return header
    raise AssertionError("no nonce left")


def make_block(
    prev: Built,
    txs: Sequence[Transaction] = (),
    *,
    fees: int = 0,
    coinbase: Transaction | None = None,
    commit: bool | None = None,
    time: int | None = None,
    version: int = VERSION,
    bits: int = REGTEST_BITS,
    root: bytes | None = None,
    good_work: bool = True,
    script: bytes = OP_TRUE,
    extra_nonce: int = 0,
) -> Built:
    """Return a block on top of `prev`; by default a valid one that holds `txs` behind a coinbase.

    `commit`: whether the coinbase carries a witness commitment (default: where a transaction has a witness).
    `coinbase` replaces the whole coinbase, `root` the merkle root.
    """
    height = prev.height + 1
    when = prev.time + SPACING if time is None else time
    if coinbase is None:
        committed = any(tx.has_witness for tx in txs) if commit is None else commit
        coinbase = make_coinbase(
            height,
            value=subsidy(height) + fees,
            script=script,
            more_outputs=[commitment_output(txs)] if committed else [],
            witness=(WITNESS_RESERVED,) if committed else (),
            extra_nonce=extra_nonce,
        )
    return assemble(prev, [coinbase, *txs], time=when, version=version, bits=bits, root=root, good_work=good_work)


def assemble(
    prev: Built,
    txs: Sequence[Transaction],
    *,
    time: int | None = None,
    version: int = VERSION,
    bits: int = REGTEST_BITS,
    root: bytes | None = None,
    good_work: bool = True,
) -> Built:
    """Return a block of exactly these transactions."""
    when = prev.time + SPACING if time is None else time
    txs_root = root if root is not None else merkle([tx.txid for tx in txs]) if txs else bytes(32)
    header = solve(version, prev.hash, txs_root, when, bits, good=good_work)
    return Built(header.hash, prev.height + 1, when, prev, Block(header, list(txs)))


def make_chain(prev: Built, count: int, *, script: bytes = OP_TRUE, extra_nonce: int = 0) -> list[Built]:
    """Return `count` blocks without transactions on top of `prev`."""
    chain = []
    for _ in range(count):
        prev = make_block(prev, script=script, extra_nonce=extra_nonce)
        chain.append(prev)
    return chain
