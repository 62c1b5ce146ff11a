"""Ephemeral dust: a transaction without fee may have a dust output if its child spends it at once.

Owns: both checks of that rule with their debug texts. Never: how much dust is standard (`standard`).
Only for nodes that demand standard transactions.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.dust import dust_outputs
from clarion.node.primitives.ids import OutPoint, Txid, Wtxid, hash_to_hex, make_outpoint, outpoint_txid
from clarion.node.primitives.transaction import Transaction

MISSING_EPHEMERAL_SPENDS = "missing-ephemeral-spends"
"""The reason that goes with an `EphemeralFault`."""


class EphemeralFault(NamedTuple):
    """Which transaction leaves dust of a parent unspent, and the debug text that says so."""

    wtxid: Wtxid
    debug: str


def pre_check_ephemeral_tx(
    tx: Transaction, dust_relay_feerate: FeeRate, base_fee_sat: int, modified_fee_sat: int
) -> str | None:
    """Return None, or the debug text (reason `dust`) if a transaction with dust pays a fee: nobody should mine it alone."""
    if (base_fee_sat or modified_fee_sat) and dust_outputs(tx, dust_relay_feerate):
        return "tx with dust output must be 0-fee"
    return None


def check_ephemeral_spends(
    package: Sequence[Transaction], dust_relay_feerate: FeeRate, get_pooled: Callable[[Txid], Transaction | None]
) -> EphemeralFault | None:
    """Return the first transaction of the package that spends a parent but not all of the parent's dust.

    Parents are looked for in the package, then in the pool by `get_pooled`.
    """
    by_txid = {tx.txid: tx for tx in package}
    for tx in package:
        spent = {txin.prevout for txin in tx.inputs}
        for parent_txid in {outpoint_txid(prevout) for prevout in spent}:
            parent = by_txid.get(parent_txid) or get_pooled(parent_txid)
            if parent is not None and not _dust_of(parent, dust_relay_feerate) <= spent:
                debug = (
                    f"tx {hash_to_hex(tx.txid)} (wtxid={hash_to_hex(tx.wtxid)}) did not spend parent's ephemeral dust"
                )
                return EphemeralFault(tx.wtxid, debug)
    return None


def _dust_of(tx: Transaction, dust_relay_feerate: FeeRate) -> set[OutPoint]:
    return {make_outpoint(tx.txid, index) for index in dust_outputs(tx, dust_relay_feerate)}
