"""Play recorded conversations with Bitcoin Core against a fresh regtest node and count the answers that are alike.

    python tools/compat.py [--mempool] [--only NAME] [--show N]

The recordings and their player lie in ../shared (or the folder that CLARION_SHARED names). Without --mempool, steps with
messages that only a node with a mempool can send are compared without messages, and the counters of the others are only
checked for gaps: the reference has counted its mempool's messages too. Exits 1 when an answer differs.
"""

import argparse
import gzip
import importlib.util
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from helpers.node import TOPICS, Node  # noqa: E402
from helpers.shared import shared_root  # noqa: E402

Message = list[Any]
MEMPOOL_LABELS = ("41", "52")  # A and R behind the hash of a sequence message


def load_player() -> Any:
    """Return the module that plays tapes."""
    spec = importlib.util.spec_from_file_location("play_tape", shared_root() / "tools" / "play_tape.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class MessageCheck:
    """Compares a step's messages where there is no mempool: topics, bodies and order, and counters without gaps."""

    def __init__(self, player: Any) -> None:
        self._player = player
        self._counters: dict[str, int] = {}
        player.compare_zmq = self.compare

    def compare(self, want: list[Message]) -> Iterator[str]:
        """Take what the node sent since the last step and yield how it differs from `want`."""
        of_mempool = any(topic == "sequence" and body[64:66] in MEMPOOL_LABELS for topic, body, _ in want)
        got = self._player.drain(0 if of_mempool else len(want))
        yield from self._gaps(got)
        if of_mempool:
            return
        bare_want, bare_got = ([message[:2] for message in messages] for messages in (want, got))
        if bare_want != bare_got:
            topics = [" ".join(message[0] for message in messages) for messages in (want, got)]
            yield f"zmq: want {topics[0]}, got {topics[1]}"

    def _gaps(self, got: list[Message]) -> Iterator[str]:
        for topic, _, counter in got:
            last = self._counters.get(topic, counter - 1)
            if counter != last + 1:
                yield f"zmq: {topic} {counter} follows {last}"
            self._counters[topic] = counter


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
            if not arguments.mempool:
                MessageCheck(player)
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
    parser.add_argument("--mempool", action="store_true", help="compare also what only a node with a mempool can know")
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
