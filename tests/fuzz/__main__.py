"""Fuzz the network with atheris: `make fuzz`, or `python -m fuzz messages --seconds 60`.

Owns: the engine's options, and starting points for it. Never: what is fuzzed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["clarion.node.net", "clarion.node.primitives", "clarion.node.mempool"]):
    from clarion.node.net.transport.v1 import V1Transport
    from fuzz.targets import COMMANDS, targets
    from helpers.chain_builder import genesis, make_chain
    from helpers.peer_phrases import DEPTH, phrases_of
    from helpers.wire_peer import MAGIC

LONGEST = {"messages": 4_000, "transports": 6_000, "peers": 800}
HANGS_AFTER_S = 60
MEMORY_MIB = 3_000


def seeds(name: str) -> list[bytes]:
    """Return inputs that reach far, for the engine to change."""
    if name == "peers":
        # Each connects an outbound and an inbound peer that say all there is to say, from another place on.
        steps = [bytes((2, 0, phrase)) for phrase in range(256)]
        return [bytes((0, 1, 0, 1, 1, 0, 0, 2, 0)) + b"".join(steps[at : at + 60]) for at in range(0, 256, 20)]
    phrases, _ = phrases_of(make_chain(genesis(), DEPTH), 1_400_000_000)
    if name == "messages":
        return [bytes((COMMANDS.index(command),)) + payload for command, payload in phrases]
    near = V1Transport(MAGIC)
    return [bytes((kind,)) + near.encode(*phrase) for phrase in phrases for kind in (0, 3)]


def main() -> None:
    """Run until the time is over or something is wrong; the engine ends the process itself."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("target", choices=["messages", "transports", "peers"])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--work", type=Path, help="folder for what was found, kept; default: a temporary one")
    parser.add_argument("--input", type=Path, help="play this one input, as a failed run left it, and end")
    chosen = parser.parse_args()
    work = (chosen.work or Path(tempfile.mkdtemp(prefix="clarion-fuzz-"))) / chosen.target
    work.mkdir(parents=True, exist_ok=True)
    target = targets(Path(tempfile.mkdtemp(prefix="worlds-", dir=work)))[chosen.target]()
    if chosen.input:
        target(chosen.input.read_bytes())
        return
    corpus = work / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds(chosen.target)):
        (corpus / f"seed-{number}").write_bytes(seed[: LONGEST[chosen.target]])
    print(f"what is found is kept in {work}", flush=True)
    options = [
        f"-max_total_time={chosen.seconds}", f"-max_len={LONGEST[chosen.target]}", f"-timeout={HANGS_AFTER_S}",
        f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={work}/", "-print_final_stats=1", str(corpus),
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
