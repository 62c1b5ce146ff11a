"""Context-free transaction checks: what can be decided from the transaction alone.

Owns: the numbered rules of `check_transaction`. Never: coins, the chain's state, policy, and what depends on the
witness (it has not been checked for malleation when these rules run).
"""

from clarion.node.consensus.constants import MAX_BLOCK_WEIGHT, MAX_MONEY, WITNESS_SCALE_FACTOR
from clarion.node.errors import TxInvalid
from clarion.node.primitives.ids import NULL_OUTPOINT
from clarion.node.primitives.transaction import Transaction


def check_transaction(tx: Transaction) -> None:
    """Raise TxInvalid with the reference's reject reason if the transaction breaks a context-free rule."""
    inputs = tx.inputs
    # 1. bad-txns-vin-empty
    if not inputs:
        raise TxInvalid("bad-txns-vin-empty")
    # 2. bad-txns-vout-empty
    if not tx.outputs:
        raise TxInvalid("bad-txns-vout-empty")
    # 3. bad-txns-oversize
    if tx.base_size * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT:
        raise TxInvalid("bad-txns-oversize")

    # 4. bad-txns-vout-negative, bad-txns-vout-toolarge, bad-txns-txouttotal-toolarge (CVE-2010-5139)
    total = 0
    for txout in tx.outputs:
        value = txout.value
        if value < 0:
            raise TxInvalid("bad-txns-vout-negative")
        if value > MAX_MONEY:
            raise TxInvalid("bad-txns-vout-toolarge")
        total += value
        if total > MAX_MONEY:
            raise TxInvalid("bad-txns-txouttotal-toolarge")

    if len(inputs) == 1:
        txin = inputs[0]
        # 6. bad-cb-length; a single input can't be a duplicate, and a null one makes a coinbase.
        if txin.prevout == NULL_OUTPOINT and not 2 <= len(txin.script_sig) <= 100:
            raise TxInvalid("bad-cb-length")
        return
    # 5. bad-txns-inputs-duplicate (CVE-2018-17144)
    prevouts = {txin.prevout for txin in inputs}
    if len(prevouts) != len(inputs):
        raise TxInvalid("bad-txns-inputs-duplicate")
    # 7. bad-txns-prevout-null
    if NULL_OUTPOINT in prevouts:
        raise TxInvalid("bad-txns-prevout-null")
