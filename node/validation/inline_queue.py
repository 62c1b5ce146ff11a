"""Checks scripts on the caller's thread, and the loop that all queues share.

Owns: checking the inputs of one batch, stopping behind a failure. Never: threads, processes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from clarion.node.primitives.transaction import Transaction, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import SCRIPT_VERIFY_LOW_S
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.signatures import PreparedCheck, verify_prepared
from clarion.node.script.spending_tx import SpendingTx
from clarion.node.script.standard import prepare_check
from clarion.node.script.verify import verify_input
from clarion.node.validation.batches import NO_FAILURE, Unit, make_batches
from clarion.node.validation.check_queue import ScriptFailure

if TYPE_CHECKING:
    # Workers import this module and need none of the rules.
    from clarion.node.consensus.connect import ScriptJob

INLINE_BATCH = 128


class Found(NamedTuple):
    """A failed check by its position in block order."""

    position: int
    failure: ScriptFailure


class SpendUnit(NamedTuple):
    """What `Unit` says, with the transaction cut into pieces."""

    tx: SpendingTx
    tx_index: int
    first: int
    end: int
    position: int


class Left(NamedTuple):
    """An input that no short cut decides, by its position in block order."""

    position: int
    unit: SpendUnit
    input_index: int


def cut_units(units: Iterable[Unit]) -> Iterator[SpendUnit]:
    """Cut the transactions of a batch."""
    for job, first, end, position in units:
        tx = SpendingTx(job.tx.raw)
        tx.set_spent(job.spent_outputs)
        yield SpendUnit(tx, job.tx_index, first, end, position)


def check_units(units: Iterable[SpendUnit], flags: int, first_failure: Callable[[], int]) -> Found | None:
    """Check the inputs of `units` in order and return the first that fails.

    First everything but the signatures is done for what spends by a template, then these are verified in a row; what
    is left, and what failed, goes through the interpreter. Between two checks `first_failure` is asked for the lowest
    position that is known to fail: what lies behind it matters no more.
    """
    left = take_short_cuts(units, flags, first_failure)
    return interpret(left, flags, first_failure) if left else None


def take_short_cuts(units: Iterable[SpendUnit], flags: int, first_failure: Callable[[], int]) -> list[Left]:
    """Return the inputs that the interpreter must look at; the others are valid under `flags`.

    What passes hangs on its signatures alone, so it is valid under each subset of `flags` as well.
    """
    prepared: list[tuple[PreparedCheck, SpendUnit, int]] = []
    left: list[Left] = []
    for unit in units:
        tx = unit.tx
        for index in range(unit.first, unit.end):
            try:
                check = prepare_check(tx, index, flags)
            except MemoryError:
                raise
            except Exception:
                check = None
            if check is not None:
                prepared.append((check, unit, index))
            else:
                left.append(Left(unit.position + index, unit, index))
    low_s = bool(flags & SCRIPT_VERIFY_LOW_S)
    for check, unit, index in prepared:
        if unit.position + index > first_failure():
            break
        if not verify_prepared(check, low_s):
            left.append(Left(unit.position + index, unit, index))
    return left


def interpret(inputs: Iterable[Left], flags: int, first_failure: Callable[[], int]) -> Found | None:
    """Run the scripts of `inputs` in their order and return the first that fails."""
    before: SpendingTx | None = None
    for position, unit, index in sorted(inputs):
        if position > first_failure():
            return None
        if unit.tx is not before:
            before = unit.tx
            tx = Transaction.parse(before.raw)
            amounts = [int.from_bytes(amount, "little", signed=True) for amount in before.amounts]
            spent = [TxOut(*output) for output in zip(amounts, before.scripts, strict=True)]
            txdata = PrecomputedTxData(tx, spent)
        error: ScriptError | None = verify_input(tx, index, spent, flags, txdata)
        if error is not None:
            return Found(position, ScriptFailure(unit.tx_index, index, error))
    return None


class InlineQueue:
    """No workers: one check after the other, on the caller's thread."""

    def start(self) -> None:
        """Nothing to start."""

    def submit(self, jobs: "Sequence[ScriptJob]", flags: int) -> "Future[ScriptFailure | None]":
        """Run the scripts now and return their result as a future."""
        future: Future[ScriptFailure | None] = Future()
        future.set_result(self.check(jobs, flags))
        return future

    def check(self, jobs: "Sequence[ScriptJob]", flags: int) -> ScriptFailure | None:
        """Run the scripts of all inputs of `jobs` under `flags`."""
        for batch in make_batches(jobs, INLINE_BATCH):
            found = check_units(cut_units(batch), flags, lambda: NO_FAILURE)
            if found:
                return found.failure
        return None

    def close(self) -> None:
        """Nothing to end."""
