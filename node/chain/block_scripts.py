"""The script checks of one block, on their way in parts.

Owns: handing parts on while the block is still being connected, and the one result of them all. Never: running checks.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from clarion.node.consensus.connect import ScriptJob
from clarion.node.validation.check_queue import ScriptFailure


class ScriptChecker(Protocol):
    """What connecting a block needs of `validation`: the first failed check of some jobs, or None, sooner or later."""

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]": ...
    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None: ...


class BlockScripts:
    """The checks of a block's transactions, which are handed on in block order."""

    def __init__(self, checker: ScriptChecker) -> None:
        self._checker = checker
        self._parts: list[Future[ScriptFailure | None]] = []

    def hand_on(self, jobs: Sequence[ScriptJob], flags: int) -> None:
        """Have the scripts of further transactions checked under `flags`."""
        self._parts.append(self._checker.submit(jobs, flags))

    def done(self) -> bool:
        """Whether the result is known."""
        return all(part.done() for part in self._parts)

    def result(self) -> ScriptFailure | None:
        """Wait, and return the first failure in block order. Raises ClarionError where checks could not be made."""
        for part in self._parts:
            failure = part.result()
            if failure is not None:
                return failure
        return None
