"""Connecting a block to the coins.

Owns: the rules that need the coins, in the reference's order, and what a block changes. Never: fetching or storing
coins, running scripts (it returns the checks to run), the clock. `bip30` and `disconnect` are offered here too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clarion.node.consensus.bip30 import bip30_outpoints, bip30_violation, is_bip30_repeat
from clarion.node.consensus.constants import (
    MAX_BLOCK_SIGOPS_COST,
    MAX_MONEY,
    WITNESS_SCALE_FACTOR,
)
from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.deployments import block_script_flags
from clarion.node.consensus.disconnect import DisconnectDelta, disconnect_block
from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.sigops import block_legacy_sigops, input_sigop_cost
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.consensus.tx_notes import NOTED_FLAGS
from clarion.node.consensus.tx_verify import (
    calculate_sequence_locks,
    check_tx_inputs,
    evaluate_sequence_locks,
    has_sequence_locks,
)
from clarion.node.errors import BlockInvalid, TxInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin, encode_outputs
from clarion.node.primitives.ids import NULL_HASH, BlockHash, OutPoint, hash_to_hex
from clarion.node.primitives.opcodes import OP_RETURN
from clarion.node.primitives.script import MAX_SCRIPT_SIZE
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptError

__all__ = [
    "ConnectResult",
    "DisconnectDelta",
    "HandOn",
    "ScriptJob",
    "bip30_outpoints",
    "bip30_violation",
    "connect_block",
    "disconnect_block",
    "prevouts_to_fetch",
    "script_failure",
]

# Most outputs have small indexes: their four little-endian bytes are made once.
_INDEX = [index.to_bytes(4, "little") for index in range(256)]


class ScriptJob(NamedTuple):
    """The script checks of one transaction: all its inputs against the outputs that they spend.

    `spent_raw` holds the outputs as on the wire, nothing where nobody has encoded them yet.
    """

    tx: Transaction
    spent_outputs: Sequence[Coin]
    tx_index: int
    spent_raw: bytes = b""


HandOn = Callable[[Sequence[ScriptJob], int], None]
"""Takes script jobs, and the flags under which they must pass."""

PART = 256
"""Transactions whose script jobs are handed on at a time."""


@dataclass(frozen=True, slots=True)
class ConnectResult:
    """A block that passed every rule but its scripts."""

    delta: BlockDelta
    flags: int
    """Script flags of the block."""
    script_jobs: list[ScriptJob]
    """In block order; without the coinbase."""
    sigop_cost: int
    input_count: int
    """Inputs of all transactions, the coinbase's among them."""


def prevouts_to_fetch(block: Block) -> list[OutPoint]:
    """Return the prevouts of the block that no earlier transaction of the block creates, in block order.

    The list has repeats where two transactions spend the same output.
    """
    created: set[bytes] = set()
    prevouts: list[OutPoint] = []
    for tx in block.txs[1:]:
        for txin in tx.inputs:
            prevout = txin.prevout
            if prevout[:32] not in created:
                prevouts.append(prevout)
        created.add(tx.txid)
    return prevouts


def script_failure(error: ScriptError, input_index: int, tx: Transaction) -> BlockInvalid:
    """Return the error of a block in which the script of this input of `tx` fails."""
    prevout = tx.inputs[input_index].prevout
    return BlockInvalid(
        f"block-script-verify-flag-failed ({error.message})",
        f"input {input_index} of {hash_to_hex(tx.txid)} (wtxid {hash_to_hex(tx.wtxid)}), "
        f"spending {hash_to_hex(prevout[:32])}:{int.from_bytes(prevout[32:], 'little')}",
    )


def _fee(tx: Transaction, spent: Sequence[Coin | None], height: int) -> int:
    try:
        return check_tx_inputs(tx, spent, height)
    except TxInvalid as error:
        debug = f"{error.debug} in transaction {hash_to_hex(tx.txid)}"
        raise BlockInvalid(error.reject_reason, debug) from None


def _all_spendable(spent: Sequence[Coin | None]) -> bool:
    """Whether all coins exist and none is a coinbase's, whose age would have to be looked at."""
    return not [coin for coin in spent if coin is None or coin.code & 1]


def _add_outputs(created: dict[OutPoint, Coin], unspent: dict[OutPoint, Coin], tx: Transaction, code: int) -> None:
    txid = tx.txid
    for index, txout in enumerate(tx.outputs):
        script = txout.script_pubkey
        if not script or (script[0] != OP_RETURN and len(script) <= MAX_SCRIPT_SIZE):
            # NewTypes are not called in loops over all outputs: that is a call like any other.
            outpoint: OutPoint = txid + (_INDEX[index] if index < 256 else index.to_bytes(4, "little"))  # type: ignore[assignment]
            created[outpoint] = unspent[outpoint] = Coin(txout.value, script, code)


def connect_block(
    block: Block,
    position: ChainPosition,
    params: ChainParams,
    coins: Mapping[OutPoint, Coin],
    *,
    bip30_existing: Collection[OutPoint] = (),
    hand_on: HandOn | None = None,
) -> ConnectResult:
    """Return what the block at `position` changes and which scripts must pass. Raises BlockInvalid.

    The block has passed `check_block` and `contextual_check_block`, which are not repeated here. `coins` holds the
    coins before the block for `prevouts_to_fetch(block)`, without those that don't exist; `bip30_existing` those of
    `bip30_outpoints(block, position, params)` that exist. `hand_on` is given the script jobs in parts, so that they can
    be run while the rest is looked at; for a block that fails further on that was in vain.
    The order is the reference's with its script checks on other threads: a failed script is reported only where no
    rule of this function is broken, thus also behind bad-cb-amount.
    """
    # 1. bad-txns-BIP30
    if bip30_existing and not is_bip30_repeat(position):
        raise bip30_violation()
    prev = position.prev
    if prev is None:
        # Genesis: its output is no coin.
        return ConnectResult(BlockDelta(block, 0, BlockHash(NULL_HASH), {}, (), 0), 0, [], 0, 1)

    height = position.height
    code = height * 2
    flags = block_script_flags(position, params)
    enforce_bip68 = height >= params.csv_height
    # A missing coin is None in the lists below, which check_tx_inputs refuses at once.
    unspent: dict[OutPoint, Any] = dict(coins)
    legacy = block_legacy_sigops(block)
    take = unspent.pop
    created: dict[OutPoint, Coin] = {}
    jobs: list[ScriptJob] = []
    spent_lists: list[Sequence[Coin]] = []
    spent_raw: list[bytes] = []
    noted = flags & NOTED_FLAGS == NOTED_FLAGS
    fees = 0
    input_count = 0
    sigop_cost = 0
    handed_on = 0

    for tx_index, tx in enumerate(block.txs):
        inputs = tx.inputs
        input_count += len(inputs)
        spent: list[Coin] = []
        if tx_index:
            spent = [take(txin.prevout, None) for txin in inputs]
            notes = tx.notes if noted else None
            # 2. bad-txns-inputs-missingorspent, -premature-spend-of-coinbase, -inputvalues-outofrange, -in-belowout
            fees += _fee(tx, spent, height) if notes is None or not _all_spendable(spent) else notes.fee_sat
            # 3. bad-txns-accumulated-fee-outofrange
            if fees > MAX_MONEY:
                raise BlockInvalid("bad-txns-accumulated-fee-outofrange", "accumulated fee in the block out of range")
            # 4. bad-txns-nonfinal (BIP68)
            if enforce_bip68 and (has_sequence_locks(tx) if notes is None else notes.has_sequence_locks):
                locks = calculate_sequence_locks(tx, [coin.code >> 1 for coin in spent], prev)
                if not evaluate_sequence_locks(locks, prev):
                    debug = f"contains a non-BIP68-final transaction {hash_to_hex(tx.txid)}"
                    raise BlockInvalid("bad-txns-nonfinal", debug)
            if notes is None:
                sigop_cost += input_sigop_cost(tx, spent, flags)
                # Encoded while the coins are at hand: later they have left the processor's caches.
                raw = encode_outputs(spent)
            else:
                sigop_cost += notes.input_sigop_cost
                raw = notes.spent_raw
            jobs.append(ScriptJob(tx, spent, tx_index, raw))
            spent_lists.append(spent)
            spent_raw.append(raw)
            if hand_on is not None and len(jobs) - handed_on == PART:
                hand_on(jobs[handed_on:], flags)
                handed_on += PART
        # 5. bad-blk-sigops
        sigop_cost += legacy[tx_index] * WITNESS_SCALE_FACTOR
        if sigop_cost > MAX_BLOCK_SIGOPS_COST:
            raise BlockInvalid("bad-blk-sigops", "too many sigops")
        _add_outputs(created, unspent, tx, code if tx_index else code | 1)

    # 6. bad-cb-amount
    limit = fees + block_subsidy(height, params)
    claimed = sum([txout.value for txout in block.txs[0].outputs])
    if claimed > limit:
        raise BlockInvalid("bad-cb-amount", f"coinbase pays too much (actual={claimed} vs limit={limit})")
    if hand_on is not None and handed_on < len(jobs):
        hand_on(jobs[handed_on:], flags)
    delta = BlockDelta(block, height, prev.hash, created, spent_lists, fees, spent_raw)
    return ConnectResult(delta, flags, jobs, sigop_cost, input_count)
