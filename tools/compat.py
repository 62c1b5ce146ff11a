"""Play recorded conversations with Bitcoin Core against a fresh regtest node and count the answers that are alike.

    python tools/compat.py [--mempool] [--only NAME]

The recordings and their player lie in ../shared (or the folder that CLARION_SHARED names). Without --mempool, what only
a node with a mempool can know is left out. Exits 1 when an answer differs.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.node import TOPICS, Node  # noqa: E402
from helpers.shared import shared_root  # noqa: E402

CREDENTIALS = ("-rpcuser=tape", "-rpcpassword=tape")


def play(tape: Path, player: Path, options: list[str]) -> int:
    """Start a node with the options that the tape's header names, play the tape, return the player's status."""
    with gzip.open(tape, "rt") as lines:
        header = json.loads(next(lines))
    with (
        tempfile.TemporaryDirectory(prefix="clarion-compat-") as folder,
        Node(Path(folder), *header["args"], *CREDENTIALS, topics=TOPICS) as node,
    ):
        url = f"http://tape:tape@127.0.0.1:{node.rpc_port}"
        command = [sys.executable, str(player), str(tape), "--url", url, "--zmq", node.zmq_address, *options]
        return subprocess.run(command, check=False).returncode


def main() -> int:
    """Play every tape that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mempool", action="store_true", help="compare also what only a node with a mempool can know")
    parser.add_argument("--only", metavar="NAME", help="compare only requests whose name contains this")
    parser.add_argument("--show", default="20", metavar="N", help="how many differences to print in full")
    arguments = parser.parse_args()
    tapes = sorted(shared_root().glob("tapes/*.jsonl.gz"))
    if not tapes:
        print(f"no recordings in {shared_root()}: nothing compared (CLARION_SHARED names their folder)")
        return 0
    options = ["--show", arguments.show]
    options += [] if arguments.mempool else ["--no-mempool"]
    options += ["--only", arguments.only] if arguments.only else []
    return max(play(tape, shared_root() / "tools" / "play_tape.py", options) for tape in tapes)


if __name__ == "__main__":
    sys.exit(main())
