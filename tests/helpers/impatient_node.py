"""`clarion` that commits every few milliseconds in initial download, where the coins still wait for a full cache.

Owns: that one difference, so that a small chain has as many commits with coins behind them as a long download.
"""

import functools
import sys

from clarion.node.app import core
from clarion.node.chain.state import ChainOptions
from clarion.node.cli import main

FLUSH_INTERVAL_S = 0.02


def program() -> list[str]:
    """Return the command that starts it."""
    return [sys.executable, __file__]


if __name__ == "__main__":
    core.ChainOptions = functools.partial(ChainOptions, flush_interval_s=FLUSH_INTERVAL_S)  # type: ignore[assignment,attr-defined]
    sys.exit(main())
