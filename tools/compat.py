"""Play recorded conversations with Bitcoin Core against a fresh regtest node and count the answers that are alike.

    python tools/compat.py [--only NAME] [--show N]

The recordings and their player lie in ../shared (or the folder that CLARION_SHARED names). Every ZMQ message of each step is
compared too, with its counter and its place among those of all topics. Exits 1 when an answer differs.
"""

import argparse
import gzip
import importlib.util
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.node import TOPICS, Node  # noqa: E402
from helpers.shared import shared_root  # noqa: E402


def load_player() -> Any:
    """Return the module that plays tapes."""
    spec = importlib.util.spec_from_file_location("play_tape", shared_root() / "tools" / "play_tape.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Our figure for the mempool's memory follows the reference's own structures: it must be equal.
    for answer in ("getmempoolinfo", "mempool"):
        module.VOLATILE[answer].discard("usage")
    return module


def play(tape: Path, arguments: argparse.Namespace) -> tuple[Counter[str], Counter[str]]:
    """Start a node with the options that the tape's header names and play; return (right, total) by kind of request."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    shown = 0
    with gzip.open(tape, "rt") as lines, tempfile.TemporaryDirectory(prefix="clarion-compat-") as folder:
        header = json.loads(next(lines))
        options = [option for option in header["args"] if option != "-regtest"]
        with Node(Path(folder), *options, topics=TOPICS) as node:
            player = load_player().Player(f"http://{node.cookie()}@127.0.0.1:{node.rpc_port}", node.zmq_address, 0.05)
            for number, step in enumerate(map(json.loads, lines), 1):
                label, found = player.rpc(step) if "rpc" in step else player.rest(step)
                if arguments.only and arguments.only not in label:
                    continue
                total[label] += 1
                right[label] += not found
                if found and shown < arguments.show:
                    shown += 1
                    asked = str(step.get("rpc") or step.get("rest"))[:200]
                    print(f"step {number} {asked}\n    " + "\n    ".join(found[:6]))
    return right, total


def main() -> int:
    """Play every tape that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", help="compare only requests whose name contains this")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="how many differences to print in full")
    arguments = parser.parse_args()
    tapes = sorted(shared_root().glob("tapes/*.jsonl.gz"))
    if not tapes:
        print(f"no recordings in {shared_root()}: nothing compared (CLARION_SHARED names their folder)")
        return 0
    failed = 0
    for tape in tapes:
        right, total = play(tape, arguments)
        for label in sorted(total):
            print(f"{label:36} {right[label]}/{total[label]}")
        failed += total.total() - right.total()
        print(f"{tape.name}: {right.total()} alike, {total.total() - right.total()} not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
