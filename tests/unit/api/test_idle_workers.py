"""API workers' processes that are started before they are needed: none is left over."""

import subprocess
import sys
from pathlib import Path

import pytest

from clarion.api.idle_worker import IdleWorkers
from helpers.waiting import is_running, wait_for


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_those_that_nobody_takes_are_ended() -> None:
    idle = IdleWorkers(2)
    taken = idle.take()
    other = idle._workers[0].process.pid
    assert is_running(other)
    idle.close()
    assert not is_running(other)
    assert is_running(taken.process.pid)
    taken.pipe.close()
    taken.process.join(20)
    assert taken.process.exitcode == 0


def test_more_can_be_had_than_were_started() -> None:
    idle = IdleWorkers(0)
    worker = idle.take()
    assert worker.process.is_alive()
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_they_end_when_the_node_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "parent.py"
    program.write_text(
        "import time\n"
        "from clarion.api.idle_worker import IdleWorkers\n"
        "if __name__ == '__main__':\n"
        "    print(IdleWorkers(1).take().process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
        wait_for(lambda: not is_running(pid))
