"""Connecting a block to the coins and disconnecting it again.

Owns: the rules that need the coins, in the reference's order, and what a block changes. Never: fetching or storing
coins, running scripts (it returns the checks to run), the clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clarion.node.consensus.constants import (
    BIP34_IMPLIES_BIP30_LIMIT,
    MAX_BLOCK_SIGOPS_COST,
    MAX_MONEY,
    WITNESS_SCALE_FACTOR,
)
from clarion.node.consensus.delta import BlockDelta
from clarion.node.consensus.deployments import block_script_flags
from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.sigops import input_sigop_cost, legacy_sigops
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.consensus.tx_verify import (
    calculate_sequence_locks,
    check_tx_inputs,
    evaluate_sequence_locks,
    has_sequence_locks,
)
from clarion.node.errors import BlockInvalid, TxInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import NULL_HASH, BlockHash, OutPoint, hash_from_hex, hash_to_hex
from clarion.node.primitives.opcodes import OP_RETURN
from clarion.node.primitives.script import MAX_SCRIPT_SIZE
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptError

# Most outputs have small indexes: their four little-endian bytes are made once.
_INDEX = [index.to_bytes(4, "little") for index in range(256)]

_BIP30_REPEATS = {
    91_842: hash_from_hex("00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec"),
    91_880: hash_from_hex("00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721"),
}
"""The two blocks whose coinbase overwrites the unspent coinbase of an earlier block."""

BIP30_UNSPENDABLE = {
    91_722: hash_from_hex("00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e"),
    91_812: hash_from_hex("00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f"),
}
"""The two blocks whose coinbase was overwritten before it was spent."""


class ScriptJob(NamedTuple):
    """The script checks of one transaction: all its inputs against the outputs that they spend."""

    tx: Transaction
    spent_outputs: Sequence[Coin]
    tx_index: int


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


def bip30_outpoints(
    block: Block, position: ChainPosition, params: ChainParams, *, exact: bool = False
) -> list[OutPoint]:
    """Return the outpoints that must not exist as coins before the block is connected (BIP30).

    Empty where the rule needn't be looked at: in the two historical exceptions; on a chain through the known block
    at BIP34's height, below the height at which that argument ends (as in the reference); and where BIP34 rules every
    block behind genesis, since all coinbases then differ, thus all transactions, and no output can be overwritten by
    a block that keeps the other rules. The reference has no such shortcut: with `exact` it is left out, which tells
    a refused block's reason exactly as the reference does.
    """
    if position.prev is None or not _bip30_enforced(position, params):
        return []
    if params.bip34_height <= 1 and not exact:
        return []
    return [
        OutPoint(tx.txid + index.to_bytes(4, "little"))
        for tx in block.txs
        for index, txout in enumerate(tx.outputs)
        if not _is_unspendable(txout.script_pubkey)
    ]


def _bip30_enforced(position: ChainPosition, params: ChainParams) -> bool:
    if position.height >= BIP34_IMPLIES_BIP30_LIMIT:
        return True
    if _BIP30_REPEATS.get(position.height) == position.hash:
        return False
    assert position.prev is not None
    bip34_block = position.prev.ancestor(params.bip34_height)
    return bip34_block is None or bip34_block.hash != params.bip34_hash


def bip30_violation() -> BlockInvalid:
    """Return the error of a block that would overwrite an unspent output."""
    return BlockInvalid("bad-txns-BIP30", "tried to overwrite transaction")


def script_failure(tx: Transaction, input_index: int, error: ScriptError) -> BlockInvalid:
    """Return the error of a block in which this input's script fails."""
    prevout = tx.inputs[input_index].prevout
    return BlockInvalid(
        f"block-script-verify-flag-failed ({error.message})",
        f"input {input_index} of {hash_to_hex(tx.txid)} (wtxid {hash_to_hex(tx.wtxid)}), "
        f"spending {hash_to_hex(prevout[:32])}:{int.from_bytes(prevout[32:], 'little')}",
    )


def _is_unspendable(script: bytes) -> bool:
    return len(script) > MAX_SCRIPT_SIZE or (len(script) > 0 and script[0] == OP_RETURN)


def _add_outputs(coins: dict[OutPoint, Coin], tx: Transaction, code: int) -> None:
    txid = tx.txid
    index = 0
    for txout in tx.outputs:
        script = txout.script_pubkey
        if not script or (script[0] != OP_RETURN and len(script) <= MAX_SCRIPT_SIZE):
            suffix = _INDEX[index] if index < 256 else index.to_bytes(4, "little")
            coins[txid + suffix] = Coin(txout.value, script, code)  # type: ignore[index]
        index += 1


def connect_block(
    block: Block,
    position: ChainPosition,
    params: ChainParams,
    coins: Mapping[OutPoint, Coin],
    *,
    bip30_existing: Collection[OutPoint] = (),
) -> ConnectResult:
    """Return what the block at `position` changes and which scripts must pass. Raises BlockInvalid.

    The block has passed `check_block` and `contextual_check_block`, which are not repeated here. `coins` holds the
    coins before the block for `prevouts_to_fetch(block)`, without those that don't exist; `bip30_existing` those of
    `bip30_outpoints(block, position, params)` that exist.
    The order is the reference's with its script checks on other threads: a failed script is reported only where no
    rule of this function is broken, thus also behind bad-cb-amount.
    """
    # 1. bad-txns-BIP30
    if bip30_existing:
        raise bip30_violation()
    prev = position.prev
    if prev is None:
        # Genesis: its output is no coin.
        return ConnectResult(BlockDelta(block, 0, BlockHash(NULL_HASH), {}, (), 0), 0, [], 0, 1)

    height = position.height
    code = height * 2
    flags = block_script_flags(position, params)
    enforce_bip68 = height >= params.csv_height
    unspent = dict(coins)
    created: dict[OutPoint, Coin] = {}
    jobs: list[ScriptJob] = []
    spent_lists: list[Sequence[Coin]] = []
    fees = 0
    input_count = 0
    sigop_cost = 0

    for tx_index, tx in enumerate(block.txs):
        inputs = tx.inputs
        input_count += len(inputs)
        spent: list[Coin] = []
        if tx_index:
            take = unspent.pop
            # The list holds None for a missing coin, which check_tx_inputs refuses at once.
            spent = [take(txin.prevout, None) for txin in inputs]  # type: ignore[misc]
            # 2. bad-txns-inputs-missingorspent, -premature-spend-of-coinbase, -inputvalues-outofrange, -in-belowout
            try:
                fees += check_tx_inputs(tx, spent, height)
            except TxInvalid as error:
                debug = f"{error.debug} in transaction {hash_to_hex(tx.txid)}"
                raise BlockInvalid(error.reject_reason, debug) from None
            # 3. bad-txns-accumulated-fee-outofrange
            if fees > MAX_MONEY:
                raise BlockInvalid("bad-txns-accumulated-fee-outofrange", "accumulated fee in the block out of range")
            # 4. bad-txns-nonfinal (BIP68)
            if enforce_bip68 and tx.version >= 2 and has_sequence_locks(tx):
                locks = calculate_sequence_locks(tx, [coin.code >> 1 for coin in spent], prev)
                if not evaluate_sequence_locks(locks, prev):
                    debug = f"contains a non-BIP68-final transaction {hash_to_hex(tx.txid)}"
                    raise BlockInvalid("bad-txns-nonfinal", debug)
            sigop_cost += input_sigop_cost(tx, spent, flags)
            jobs.append(ScriptJob(tx, spent, tx_index))
            spent_lists.append(spent)
        # 5. bad-blk-sigops
        sigop_cost += legacy_sigops(tx) * WITNESS_SCALE_FACTOR
        if sigop_cost > MAX_BLOCK_SIGOPS_COST:
            raise BlockInvalid("bad-blk-sigops", "too many sigops")
        outputs: dict[OutPoint, Coin] = {}
        _add_outputs(outputs, tx, code if tx_index else code | 1)
        created.update(outputs)
        unspent.update(outputs)

    # 6. bad-cb-amount
    limit = fees + block_subsidy(height, params)
    claimed = sum([txout.value for txout in block.txs[0].outputs])
    if claimed > limit:
        raise BlockInvalid("bad-cb-amount", f"coinbase pays too much (actual={claimed} vs limit={limit})")
    delta = BlockDelta(block, height, prev.hash, created, spent_lists, fees)
    return ConnectResult(delta, flags, jobs, sigop_cost, input_count)
