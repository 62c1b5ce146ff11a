"""`clarion`, with a note of the moment of every commit: what the benchmarks of delivery measure from.

Owns: the note, one line in the file that the first argument names: nanoseconds (CLOCK_MONOTONIC, the same for all processes)
and the last row of the log that is durable then. Never: anything else: the node runs as it always does.
"""

import sys
import time
from pathlib import Path

from clarion.node.app.core import NodeCore
from clarion.node.cli import main


def note_commits(path: Path) -> None:
    """Write the moment of each commit from now on."""
    on_commit = NodeCore._on_commit

    def noting(core: NodeCore, seq: int) -> None:
        moment = time.monotonic_ns()
        on_commit(core, seq)
        with path.open("a") as file:
            print(moment, seq, file=file)

    NodeCore._on_commit = noting  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    note_commits(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
