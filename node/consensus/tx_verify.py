"""Transaction rules that need the chain or the coins: lock times, sequence locks, values and maturity.

Owns: BIP65's and BIP113's finality, BIP68's relative locks, `check_tx_inputs`. Never: fetching coins, scripts.
"""

from collections.abc import Sequence

from clarion.node.consensus.constants import (
    COINBASE_MATURITY,
    LOCKTIME_THRESHOLD,
    MAX_MONEY,
    SEQUENCE_FINAL,
    SEQUENCE_LOCKTIME_DISABLE_FLAG,
    SEQUENCE_LOCKTIME_GRANULARITY,
    SEQUENCE_LOCKTIME_MASK,
    SEQUENCE_LOCKTIME_TYPE_FLAG,
    format_money,
)
from clarion.node.consensus.position import ChainPosition
from clarion.node.errors import TxInvalid
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.transaction import Transaction

NO_LOCK = (-1, -1)
"""The sequence locks of a transaction that has none."""


def is_final_tx(tx: Transaction, height: int, time: int) -> bool:
    """Return whether the transaction's lock time allows it in a block of this height.

    `time` is the median time past of the block's parent (BIP113), or the block's own time before BIP113.
    """
    lock_time = tx.lock_time
    if lock_time == 0 or lock_time < (height if lock_time < LOCKTIME_THRESHOLD else time):
        return True
    return all(txin.sequence == SEQUENCE_FINAL for txin in tx.inputs)


def has_sequence_locks(tx: Transaction) -> bool:
    """Return whether any input carries a relative lock time (BIP68)."""
    if tx.version < 2:
        return False
    # A list: this runs for every transaction of a block, and a generator costs more than it saves.
    return min([txin.sequence for txin in tx.inputs]) < SEQUENCE_LOCKTIME_DISABLE_FLAG


def calculate_sequence_locks(
    tx: Transaction, heights: Sequence[int], prev: ChainPosition, *, enforce: bool = True
) -> tuple[int, int]:
    """Return the last height and the last median time past at which the transaction is still locked (BIP68).

    `heights` holds the height of the coin that each input spends; `prev` is the parent of the block that is to hold
    the transaction (a coin of that block itself has height `prev.height + 1`). -1 stands for no lock.
    """
    if not enforce or not has_sequence_locks(tx):
        return NO_LOCK
    min_height = min_time = -1
    for txin, coin_height in zip(tx.inputs, heights, strict=True):
        sequence = txin.sequence
        if sequence & SEQUENCE_LOCKTIME_DISABLE_FLAG:
            continue
        value = sequence & SEQUENCE_LOCKTIME_MASK
        # Both results are the last invalid height or time, as lock times are: hence minus one.
        if sequence & SEQUENCE_LOCKTIME_TYPE_FLAG:
            # Time counts from the median time past of the block before the coin's.
            ancestor = prev.ancestor(max(coin_height - 1, 0))
            assert ancestor is not None, "a coin's block is an ancestor of the block that spends it"
            lock = ancestor.median_time_past() + (value << SEQUENCE_LOCKTIME_GRANULARITY) - 1
            min_time = max(min_time, lock)
        else:
            min_height = max(min_height, coin_height + value - 1)
    return min_height, min_time


def evaluate_sequence_locks(locks: tuple[int, int], prev: ChainPosition) -> bool:
    """Return whether a block on top of `prev` satisfies the locks of `calculate_sequence_locks`."""
    min_height, min_time = locks
    return min_height <= prev.height and (min_time < 0 or min_time < prev.median_time_past())


def check_tx_inputs(tx: Transaction, spent: Sequence[Coin | None], spend_height: int) -> int:
    """Return the fee in satoshis of a transaction other than a coinbase that passed `check_transaction`.

    `spent` holds the coin that each input spends, None where there is none. Raises TxInvalid.
    """
    value_in = 0
    for coin in spent:
        # 1. bad-txns-inputs-missingorspent
        if coin is None:
            raise _missing_inputs()
        # 2. bad-txns-premature-spend-of-coinbase
        code = coin.code
        if code & 1 and spend_height - (code >> 1) < COINBASE_MATURITY:
            depth = spend_height - (code >> 1)
            raise _unless_missing(
                spent, TxInvalid("bad-txns-premature-spend-of-coinbase", f"tried to spend coinbase at depth {depth}")
            )
        # 3. bad-txns-inputvalues-outofrange
        value = coin.value
        value_in += value
        if value < 0 or value > MAX_MONEY or value_in > MAX_MONEY:
            raise _unless_missing(spent, TxInvalid("bad-txns-inputvalues-outofrange"))
    value_out = 0
    for txout in tx.outputs:
        value_out += txout.value
    # 4. bad-txns-in-belowout. The fee needs no check of its own: both sums are in range and this one isn't negative.
    if value_in < value_out:
        raise TxInvalid(
            "bad-txns-in-belowout", f"value in ({format_money(value_in)}) < value out ({format_money(value_out)})"
        )
    return value_in - value_out


def _missing_inputs() -> TxInvalid:
    return TxInvalid("bad-txns-inputs-missingorspent", "CheckTxInputs: inputs missing/spent")


def _unless_missing(spent: Sequence[Coin | None], error: TxInvalid) -> TxInvalid:
    # A missing coin is told first, whichever input it belongs to; looking for it only here saves a walk.
    return _missing_inputs() if any(coin is None for coin in spent) else error
