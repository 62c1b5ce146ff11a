"""The mempool: transactions accepted a second, a block of accepted transactions, memory for each transaction.

Owns: one process each that offers real transactions, or made-up ones for the memory, and the tables. Never: sockets.
"""

import argparse
import gc
import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.bench_coins import outpoint
from bench.bench_tip import one_block
from bench.chain_file import read_blocks
from bench.chain_run import ChainRun, open_chain
from bench.report import Report, load_average
from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.pool import Mempool
from clarion.node.mempool.service import MempoolService
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.validation.tx_scripts import TxFailure, TxScripts

REST_S = 0.3
"""Before a block: what is done behind the last commit must be over."""
P2WPKH = b"\x00\x14" + bytes(20)
COIN = Coin(100_000, P2WPKH, 2)
WITNESS = (bytes(71), bytes(33))
"""As large as a signature and its key."""


class Trusting(TxScripts):
    """Runs no script: made-up transactions have no signatures."""

    def check(self, job: ScriptJob, policy_flags: int, block_flags: int) -> TxFailure | None:
        """Find nothing wrong."""
        return None


def make_mempool(run: ChainRun, folder: Path, scripts: TxScripts) -> MempoolService:
    """Return a mempool that follows the chain and is told in the event log."""
    pool = Mempool(MempoolOptions(), run.manager.state.clock)
    service = MempoolService(run.service, pool, Acceptor(pool, run.service, scripts), folder)
    service.start()
    return service


def measure(path: Path, folder: Path, last: int, par: int) -> dict[str, Any]:
    """Offer the transactions of every second of the last blocks before the block comes."""
    raws = read_blocks(path)
    rates: list[float] = []
    cpu: list[float] = []
    blocks: dict[str, list[float]] = {"seen": [], "unseen": []}
    with ExitStack() as stack:
        run = open_chain(folder, stack, par=par)
        run.service.submit(run.manager.set_importing, True).result()
        run.feed(raws[:-last])[-1].result()
        run.service.submit(run.manager.set_importing, False).result()
        mempool = make_mempool(run, folder, TxScripts(run.queue, run.cache))
        for number, raw in enumerate(raws[-last:]):
            if number % 2 == 0:
                wall, used = _offer(mempool, Block.parse(raw).txs[1:])
                rates.append(wall)
                cpu.append(used)
            time.sleep(REST_S)
            durable, _ = one_block(run, raw, mempool.pool.spending_transaction)
            blocks["unseen" if number % 2 else "seen"].append(durable)
            assert not mempool.pool.entries
    return {"us": statistics.median(rates), "cpu_us": statistics.median(cpu), "blocks": blocks}


def _offer(mempool: MempoolService, txs: Sequence[Transaction]) -> tuple[float, float]:
    """Return the microseconds that one transaction took, and those of processor time in this process."""
    started, used = time.perf_counter(), time.process_time()
    for tx in txs:
        result = mempool.accept(tx)
        assert result.valid, f"{hash_to_hex(tx.txid)}: {result.error}"
    count = len(txs)
    return (time.perf_counter() - started) / count * 1e6, (time.process_time() - used) / count * 1e6


def measure_memory(folder: Path, count: int) -> dict[str, Any]:
    """Fill a mempool with `count` transactions that spend two coins each and return what that took."""
    with ExitStack() as stack:
        run = open_chain(folder, stack, par=1)
        tip = run.manager.tip.hash
        run.service.submit(
            lambda: run.database.coins.flush({outpoint(n): COIN for n in range(2 * count)}, tip)
        ).result()
        mempool = make_mempool(run, folder, Trusting(run.queue, run.cache))
        offered = _made_up(count)
        gc.collect()
        before, raw_bytes = _resident_bytes(), 0
        started = time.perf_counter()
        for tx in offered:
            raw_bytes += len(tx.raw)
            result = mempool.accept(tx)
            assert result.valid, str(result.error)
        seconds = time.perf_counter() - started
        gc.collect()
        return {
            "bytes": (_resident_bytes() - before) / count,
            "raw": raw_bytes / count,
            "reference": mempool.pool.usage_bytes / count,
            "us": seconds / count * 1e6,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def _made_up(count: int) -> Iterator[Transaction]:
    for number in range(count):
        prevouts = (outpoint(2 * number), outpoint(2 * number + 1))
        inputs = [TxIn(prevout, b"", 0xFFFFFFFD, WITNESS) for prevout in prevouts]
        # Decoded, as what comes from outside: that shares no bytes with anything.
        yield Transaction.parse(Transaction(2, inputs, [TxOut(COIN.value - 500, P2WPKH)] * 2).raw)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def run_accept(report: Report, path: Path, work: Path, last: int, count: int) -> None:
    """Measure both."""
    report.section("The mempool")
    report.text(
        "Transactions with two inputs of the usual kinds and two outputs, one caller that waits for each; the node's own "
        "part, without sockets, and with the rows of the event log. Then the block that holds 2,500 of them, from its raw "
        "bytes to its durable commit, against a block of which none was seen. Load average before: "
        f"{load_average()}."
    )
    rows: list[list[object]] = []
    for par in (1, 2, 4):
        found = _child(work, "accept", str(path), str(last), str(par))
        seen, unseen = (statistics.median(found["blocks"][kind]) for kind in ("seen", "unseen"))
        rows.append([f"-par={par}", 1e6 / found["us"], found["us"], found["cpu_us"], seen, unseen, seen / unseen])
    report.table(
        ["", "accepted/s", "us each", "of CPU in the node", "block seen, ms", "unseen, ms", "seen to unseen"], rows
    )
    found = _child(work, "memory", str(count))
    report.text(f"Memory of the node's process for each of {count:,} transactions with two P2WPKH inputs:")
    report.table(
        ["", "bytes"],
        [
            ["the transaction's own encoding", found["raw"]],
            ["all that it takes", found["bytes"]],
            ["what -maxmempool counts, as the reference does", found["reference"]],
        ],
    )


def _child(work: Path, *arguments: str) -> dict[str, Any]:
    folder = work / "accept"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "bench.bench_accept", str(folder), *arguments]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    shutil.rmtree(folder, ignore_errors=True)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def main() -> None:
    """Run in this process and print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=("accept", "memory"))
    parser.add_argument("arguments", nargs="+")
    chosen = parser.parse_args()
    if chosen.what == "memory":
        found = measure_memory(chosen.folder, int(chosen.arguments[0]))
    else:
        path, last, par = chosen.arguments
        found = measure(Path(path), chosen.folder, int(last), int(par))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
