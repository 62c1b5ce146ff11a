"""Replacement: what a transaction must pay to push others out of the pool.

Owns: the fee rules with their debug texts, and BIP125's signal. Never: which entries a replacement would remove.
"""

from collections.abc import Collection, Iterable

from clarion.node.consensus.constants import format_money
from clarion.node.mempool.feerate import FeeRate
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.transaction import Transaction

MAX_REPLACEMENT_CANDIDATES = 100
"""Clusters that a replacement may touch (rule 5)."""
MAX_BIP125_RBF_SEQUENCE = 0xFFFFFFFD


def signals_opt_in_rbf(tx: Transaction) -> bool:
    """Whether any input's sequence number announces that the transaction may be replaced (BIP125)."""
    return any(txin.sequence <= MAX_BIP125_RBF_SEQUENCE for txin in tx.inputs)


def conflict_clusters_fault(txid: Txid, cluster_count: int) -> str | None:
    """Return why a replacement that conflicts directly with so many distinct clusters is refused (rule 5)."""
    if cluster_count <= MAX_REPLACEMENT_CANDIDATES:
        return None
    return (
        f"rejecting replacement {hash_to_hex(txid)}; too many conflicting clusters "
        f"({cluster_count} > {MAX_REPLACEMENT_CANDIDATES})"
    )


def entries_and_txids_disjoint(ancestors: Iterable[Txid], direct_conflicts: Collection[Txid], txid: Txid) -> str | None:
    """Return why not, if the transaction spends what it would replace. Of several ancestors the lowest is named."""
    both = [ancestor for ancestor in ancestors if ancestor in direct_conflicts]
    if not both:
        return None
    return f"{hash_to_hex(txid)} spends conflicting transaction {hash_to_hex(min(both))}"


def pays_for_rbf(
    original_fees_sat: int, replacement_fees_sat: int, replacement_vsize: int, relay_fee: FeeRate, txid: Txid
) -> str | None:
    """Return None if the replacement pays what the originals do (rule 3) and its own relay on top (rule 4).

    Fees are modified ones; `relay_fee` is the incremental relay fee rate.
    """
    if replacement_fees_sat < original_fees_sat:
        return (
            f"rejecting replacement {hash_to_hex(txid)}, less fees than conflicting txs; "
            f"{format_money(replacement_fees_sat)} < {format_money(original_fees_sat)}"
        )
    additional = replacement_fees_sat - original_fees_sat
    demanded = relay_fee.fee(replacement_vsize)
    if additional < demanded:
        return (
            f"rejecting replacement {hash_to_hex(txid)}, not enough additional fees to relay; "
            f"{format_money(additional)} < {format_money(demanded)}"
        )
    return None
