"""What a queue of script checks does.

Owns: the protocol, the failure that a check ends with, and the choice of an implementation. Never: running checks.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, Protocol

from clarion.node.script.errors import ScriptError

if TYPE_CHECKING:
    # Workers import this module and need none of the rules.
    from clarion.node.consensus.connect import ScriptJob


class ScriptFailure(NamedTuple):
    """The first input, in block order, whose script fails; `tx_index` is the job's own."""

    tx_index: int
    input_index: int
    error: ScriptError


class CheckQueue(Protocol):
    """Checks all scripts of a block and says which input fails first, or None.

    The answer is the same for every implementation and number of workers: once a check has failed, no check behind it
    is started any more, but those before it are finished. Blocks are checked in the order in which they come.
    """

    def start(self) -> None:
        """Make the workers ready. Checking before it starts them too."""
        ...

    def submit(self, jobs: "Sequence[ScriptJob]", flags: int) -> "Future[ScriptFailure | None]":
        """Have the scripts of all inputs of `jobs` run under `flags`, on the caller's thread if there is no other."""
        ...

    def check(self, jobs: "Sequence[ScriptJob]", flags: int) -> ScriptFailure | None:
        """Do the same and wait for it."""
        ...

    def close(self) -> None:
        """End the workers. The queue can't be used again."""
        ...


def make_check_queue(par: int, batch: int, kind: str | None = None) -> CheckQueue:
    """Return a queue, not started yet, for `par` cores (at least 1) that claims `batch` checks at a time.

    `kind` is `inline`, `threads` or `processes`; None takes inline for one core and processes for more.
    """
    # Imported here: a node that checks inline needs none of the others.
    if kind is None:
        kind = "inline" if par <= 1 else "processes"
    if kind == "inline":
        from clarion.node.validation.inline_queue import InlineQueue

        return InlineQueue()
    if kind == "threads":
        from clarion.node.validation.thread_queue import ThreadQueue

        return ThreadQueue(max(1, par), batch)
    if kind == "processes":
        from clarion.node.validation.process_queue import ProcessQueue

        return ProcessQueue(max(1, par), batch)
    raise ValueError(f"no such check queue: {kind}")
