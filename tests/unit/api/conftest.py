"""A small chain behind the API, built once: 102 blocks that pay to a script that anybody may spend."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.api_stack import ApiStack

HEIGHT = 3


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    """Return an API over three blocks. Tests that change the chain make a stack of their own."""
    stack = ApiStack(tmp_path_factory.mktemp("api")).ready()
    stack.result("generatetodescriptor", HEIGHT, "raw(51)")
    yield stack
    stack.close()


@pytest.fixture
def own_stack(tmp_path: Path) -> Iterator[ApiStack]:
    """Return an API over the genesis block that the test may change."""
    stack = ApiStack(tmp_path).ready()
    yield stack
    stack.close()
