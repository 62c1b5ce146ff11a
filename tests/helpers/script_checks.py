"""One input through the loop that all check queues share.

Owns: making a batch of it. Never: what is checked.
"""

from collections.abc import Sequence

from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.transaction import Transaction
from clarion.node.script.errors import ScriptError
from clarion.node.script.spending_tx import SpendingTx
from clarion.node.validation.batches import NO_FAILURE
from clarion.node.validation.inline_queue import SpendUnit, check_units


def check_input(tx: Transaction, index: int, spent: Sequence[SpentOutput], flags: int) -> ScriptError | None:
    """Return why input `index` fails, None if it passes."""
    pieces = SpendingTx(tx.raw)
    pieces.set_spent(spent)
    found = check_units([SpendUnit(pieces, 1, index, index + 1, 0)], flags, lambda: NO_FAILURE)
    return found.failure.error if found else None
