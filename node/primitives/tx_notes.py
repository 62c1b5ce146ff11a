"""What was found out about a transaction that passed all checks before a block held it.

Owns: the values, which no change of the chain can alter. Never: working them out (see `consensus.tx_notes`).
"""

from typing import NamedTuple


class TxNotes(NamedTuple):
    """The transaction has passed the context-free rules; the rest follows from it and from the outputs that it spends."""

    legacy_sigops: int
    """Signature operations of its scripts, by the inaccurate count."""
    input_sigop_cost: int
    """Cost of the signature operations that depend on what it spends, with P2SH and segwit in force."""
    fee_sat: int
    spent_raw: bytes
    """The outputs that it spends as on the wire, one behind the other."""
    has_sequence_locks: bool
