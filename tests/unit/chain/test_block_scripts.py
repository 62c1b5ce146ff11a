"""The checks of one block in parts: one result, the first failure in block order."""

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from clarion.node.chain.block_scripts import BlockScripts
from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError
from clarion.node.script.errors import ScriptError
from clarion.node.validation.check_queue import ScriptFailure

EARLY, LATE = ScriptFailure(1, 0, ScriptError.EVAL_FALSE), ScriptFailure(9, 0, ScriptError.SIG_DER)


class Checker:
    """Gives futures that the test resolves."""

    def __init__(self) -> None:
        self.futures: list[Future[ScriptFailure | None]] = []

    def submit(self, jobs: Sequence[ScriptJob], flags: int) -> "Future[ScriptFailure | None]":
        self.futures.append(Future())
        return self.futures[-1]

    def remember(self, jobs: Sequence[ScriptJob], flags: int) -> None: ...


def scripts_in(checker: Checker, parts: int) -> BlockScripts:
    scripts = BlockScripts(checker)
    for _ in range(parts):
        scripts.hand_on([], 0)
    return scripts


def test_a_block_without_scripts_has_passed() -> None:
    scripts = scripts_in(Checker(), 0)
    assert scripts.done()
    assert scripts.result() is None


@pytest.mark.parametrize(
    ("first", "second", "result"), [(None, None, None), (EARLY, LATE, EARLY), (None, LATE, LATE), (EARLY, None, EARLY)]
)
def test_the_first_failure_counts(
    first: ScriptFailure | None, second: ScriptFailure | None, result: ScriptFailure | None
) -> None:
    checker = Checker()
    scripts = scripts_in(checker, 2)
    checker.futures[1].set_result(second)
    assert not scripts.done()
    checker.futures[0].set_result(first)
    assert scripts.done()
    assert scripts.result() == result


def test_checks_that_could_not_be_made_are_an_error() -> None:
    checker = Checker()
    scripts = scripts_in(checker, 2)
    checker.futures[0].set_result(None)
    checker.futures[1].set_exception(ClarionError("workers died"))
    with pytest.raises(ClarionError, match="workers died"):
        scripts.result()
