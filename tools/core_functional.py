"""Run functional tests of Bitcoin Core against `clarion`.

    python tools/core_functional.py TREE rpc_uptime 'rpc_blockchain' 'p2p_ping --v2transport' ...

TREE is an unpacked source tree of Bitcoin Core 31 (only read). Its harness starts the program that the environment
variable BITCOIND names and needs a configuration file that Core's own build would write; this writes one.
Prints one line a test and a summary; exits 1 when a test failed. The logs of failed tests stay in the folder named last.
"""

import argparse
import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SKIPPED = 77  # the harness's exit status of a test that can't run here
PARTS = ("ENABLE_BITCOIND", "ENABLE_CLI", "ENABLE_ZMQ")  # what the harness may expect: no wallet, no GUI, no IPC
RAISED = re.compile(r"^[\w.]*(Error|Exception)\b")  # the last line of a traceback
SCRIPTS = Path(sys.executable).parent


def write_config(tree: Path, folder: Path) -> Path:
    """Write the harness's config.ini into `folder` and return its path."""
    config = configparser.ConfigParser()
    config.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    config["environment"] = {
        "CLIENT_NAME": "Bitcoin Core",
        "CLIENT_BUGREPORT": "none",
        "SRCDIR": str(tree),
        "BUILDDIR": str(folder),
        "EXEEXT": "",
        "RPCAUTH": str(tree / "share" / "rpcauth" / "rpcauth.py"),
    }
    config["components"] = dict.fromkeys(PARTS, "true")
    path = folder / "config.ini"
    with path.open("w") as sink:
        config.write(sink)
    return path


def run_test(tree: Path, config: Path, name: str, seed: int, timeout_s: int) -> tuple[str, str]:
    """Run one test and return (outcome, last line that tells why)."""
    script, *options = shlex.split(name)
    folder = config.parent
    work = folder / f"{seed}-{script}"
    command = [
        sys.executable,
        str(tree / "test" / "functional" / f"{script}.py"),
        f"--configfile={config}",
        f"--cachedir={folder / 'cache'}",
        f"--tmpdir={work}",
        f"--portseed={seed}",
        *options,
    ]
    environment = os.environ | {
        "BITCOIND": str(SCRIPTS / "clarion"),
        "BITCOINCLI": str(SCRIPTS / "clarion-cli"),
        "PYTHONUNBUFFERED": "1",
    }
    log = folder / f"{seed}-{script}.log"
    with log.open("w") as sink:
        try:
            status = subprocess.run(
                command, env=environment, stdout=sink, stderr=subprocess.STDOUT, timeout=timeout_s, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            return "failed", f"no end within {timeout_s} s"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] or ["no output"]
    if status == SKIPPED:
        return "skipped", next((line for line in reversed(lines) if "Skipped" in line), lines[-1])
    if status:
        return "failed", next((line for line in reversed(lines) if RAISED.match(line.strip())), lines[-1])
    shutil.rmtree(work, ignore_errors=True)
    return "passed", ""


def main() -> int:
    """Run the tests that the command line names, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="root of an unpacked source tree of Bitcoin Core")
    parser.add_argument("tests", nargs="+", help="names of tests without .py; options may follow inside the quotes")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS", help="for each test")
    arguments = parser.parse_args()
    tree = arguments.tree.resolve()
    folder = Path(tempfile.mkdtemp(prefix="clarion-core-tests-"))
    config = write_config(tree, folder)
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for seed, name in enumerate(["create_cache", *arguments.tests], start=100):
        started = time.monotonic()
        outcome, reason = run_test(tree, config, name, seed, arguments.timeout)
        counts[outcome] += 1
        print(f"{name:40} {outcome:8} {time.monotonic() - started:6.1f} s  {reason[:200]}", flush=True)
        if name == "create_cache" and outcome != "passed":
            break  # every test starts from this chain
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    print(f"logs: {folder}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
