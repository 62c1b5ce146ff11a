"""Noting on a transaction what its block need not work out again.

Owns: what may be noted, and when a note counts. Never: whether coins exist, their age, lock times: these depend on the
chain. What the outputs are that a transaction spends does not: its inputs name them by txids, which commit to them.
"""

from collections.abc import Sequence

from clarion.node.consensus.sigops import input_sigop_cost, legacy_sigops
from clarion.node.consensus.tx_verify import has_sequence_locks
from clarion.node.primitives.coin import SpentOutput, encode_outputs
from clarion.node.primitives.transaction import Transaction
from clarion.node.primitives.tx_notes import TxNotes
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH, SCRIPT_VERIFY_WITNESS

NOTED_FLAGS = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS
"""A block's notes count only where both are in force: else signature operations are counted in another way."""


def note_checked(tx: Transaction, spent: Sequence[SpentOutput], fee_sat: int) -> None:
    """Note what is known of a transaction that passed `check_transaction` and `check_tx_inputs`, which gave its fee.

    `spent` are the outputs that its inputs spend, in their order.
    """
    tx.notes = TxNotes(
        legacy_sigops=legacy_sigops(tx),
        input_sigop_cost=input_sigop_cost(tx, spent, NOTED_FLAGS),
        fee_sat=fee_sat,
        spent_raw=encode_outputs(spent),
        has_sequence_locks=has_sequence_locks(tx),
    )
