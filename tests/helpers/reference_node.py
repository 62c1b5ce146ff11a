"""The reference's own program as a node, where the environment variable BITCOIND names one.

Owns: starting it in place of `clarion`. Never: asserting.
"""

import os
from pathlib import Path

import pytest

from helpers.node import Node


class ReferenceNode(Node):
    """Bitcoin Core on a test network, with Core's options."""

    def __init__(self, datadir: Path, *options: str, chain: str = "regtest") -> None:
        """Skip the running test where there is no program."""
        named = os.environ.get("BITCOIND")
        if not named:
            pytest.skip("needs Bitcoin Core: BITCOIND names no program")
        super().__init__(datadir, *options, chain=chain)
        self.program = [named]

    def _complete(self, arguments: list[str]) -> list[str]:
        return arguments
