"""Worker processes that die, ignore a terminal's signals, and never outlive the node."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.consensus.connect import ScriptJob
from clarion.node.errors import ClarionError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.errors import ScriptError
from clarion.node.script.flags import SCRIPT_VERIFY_P2SH
from clarion.node.validation import stream
from clarion.node.validation.check_queue import ScriptFailure
from clarion.node.validation.process_queue import ProcessQueue
from helpers.waiting import is_running, wait_for

# About a millisecond each: hashing a long item over and over.
SLOW_SCRIPT = b"\x4d\x08\x02" + bytes(520) + b"\xaa" * 200 + b"\x75\x51"


def slow_jobs(count: int) -> list[ScriptJob]:
    txs = [Transaction(2, [TxIn(OutPoint(i.to_bytes(36, "little")))], [TxOut(1, b"")]) for i in range(count)]
    return [ScriptJob(tx, [Coin(1, SLOW_SCRIPT, 0)], index) for index, tx in enumerate(txs)]


@pytest.fixture
def queue() -> Iterator[ProcessQueue]:
    made = ProcessQueue(2, 4)
    made.start()
    assert made.check(slow_jobs(16), SCRIPT_VERIFY_P2SH) is None
    yield made
    made.close()


def test_worker_killed_in_the_middle_of_a_block(queue: ProcessQueue) -> None:
    victim = queue.worker_pids[1]
    killer = threading.Timer(0.02, os.kill, (victim, signal.SIGKILL))
    killer.start()
    assert queue.check(slow_jobs(1000), SCRIPT_VERIFY_P2SH) is None
    killer.join()
    assert queue.check(slow_jobs(16), SCRIPT_VERIFY_P2SH) is None
    assert victim not in queue.worker_pids


def test_worker_killed_while_several_blocks_are_in_work(queue: ProcessQueue) -> None:
    bad = ScriptJob(slow_jobs(1)[0].tx, [Coin(1, b"\x6a", 0)], 40)
    blocks = [slow_jobs(40), [*slow_jobs(40), bad], slow_jobs(40)]
    futures = [queue.submit(jobs, SCRIPT_VERIFY_P2SH) for jobs in blocks]
    os.kill(queue.worker_pids[0], signal.SIGKILL)
    assert futures[0].result(60) is None
    assert futures[1].result(60) == ScriptFailure(40, 0, ScriptError.OP_RETURN)
    assert futures[2].result(60) is None


def test_all_workers_killed_while_idle(queue: ProcessQueue) -> None:
    before = queue.worker_pids
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert queue.check(slow_jobs(50), SCRIPT_VERIFY_P2SH) is None
    assert not set(before) & set(queue.worker_pids)


def test_workers_that_keep_dying_are_an_error(queue: ProcessQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_DEATHS", 0)
    os.kill(queue.worker_pids[0], signal.SIGKILL)
    with pytest.raises(ClarionError, match="script workers died"):
        queue.check(slow_jobs(50), SCRIPT_VERIFY_P2SH)
    monkeypatch.undo()
    assert queue.check(slow_jobs(8), SCRIPT_VERIFY_P2SH) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_of_a_terminal_are_ignored(queue: ProcessQueue, number: signal.Signals) -> None:
    before = queue.worker_pids
    for pid in before:
        os.kill(pid, number)
    assert queue.check(slow_jobs(50), SCRIPT_VERIFY_P2SH) is None
    assert queue.worker_pids == before


def test_close_ends_the_workers() -> None:
    queue = ProcessQueue(2, 4)
    queue.start()
    pids = queue.worker_pids
    assert len(pids) == 2
    queue.close()
    assert not any(is_running(pid) for pid in pids)
    queue.close()
    with pytest.raises(ClarionError, match="have been ended"):
        queue.submit(slow_jobs(1), 0)


def test_what_was_submitted_is_finished_before_the_end() -> None:
    queue = ProcessQueue(2, 4)
    futures = [queue.submit(slow_jobs(20), SCRIPT_VERIFY_P2SH) for _ in range(3)]
    queue.close()
    assert all(future.done() for future in futures)
    assert [future.result() for future in futures] == [None] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_end_when_the_node_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(
        "import time\n"
        "from clarion.node.validation.process_queue import ProcessQueue\n"
        "if __name__ == '__main__':\n"
        "    queue = ProcessQueue(2, 4)\n"
        "    queue.start()\n"
        "    print(*queue.worker_pids, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(text) for text in parent.stdout.readline().split()]
        parent.kill()
        parent.wait()
        assert len(pids) == 2
        wait_for(lambda: not any(is_running(pid) for pid in pids))
