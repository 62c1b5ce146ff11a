"""Dust: outputs that cost more to spend than they are worth.

Owns: the threshold by kind of output. Never: who may create dust (`standard`, `ephemeral`).
"""

from clarion.node.consensus.constants import WITNESS_SCALE_FACTOR
from clarion.node.mempool.feerate import FeeRate
from clarion.node.primitives.script import is_unspendable, witness_program
from clarion.node.primitives.transaction import Transaction, TxOut

_INPUT_WITHOUT_SIGNATURE = 32 + 4 + 1 + 4
_KEY_AND_SIGNATURE = 107


def dust_threshold(txout: TxOut, dust_relay_feerate: FeeRate) -> int:
    """Return the satoshis below which the output is dust; 0 if nobody can spend it anyway.

    Counted is the output itself and an input that spends it with a key and a signature, in a witness where the
    script is a witness program. Taproot's smaller witness changes nothing, and neither does an anchor's lack of one.
    """
    script = txout.script_pubkey
    if is_unspendable(script):
        return 0
    spending = _KEY_AND_SIGNATURE if witness_program(script) is None else _KEY_AND_SIGNATURE // WITNESS_SCALE_FACTOR
    return dust_relay_feerate.fee(len(txout.serialize()) + _INPUT_WITHOUT_SIGNATURE + spending)


def is_dust(txout: TxOut, dust_relay_feerate: FeeRate) -> bool:
    """Whether the output is worth less than it costs to spend it."""
    return txout.value < dust_threshold(txout, dust_relay_feerate)


def dust_outputs(tx: Transaction, dust_relay_feerate: FeeRate) -> list[int]:
    """Return the indexes of the transaction's outputs that are dust."""
    return [index for index, txout in enumerate(tx.outputs) if is_dust(txout, dust_relay_feerate)]
