"""Delivery in a process and without one, behind the same interface."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarion.node.errors import ConfigError, PluginError
from clarion.notifiers import process as process_module
from clarion.notifiers.process import EventsProcess
from clarion.notifiers.runner import EventsRunner, InProcessEvents
from clarion.notifiers.zmq_address import ZmqAddress
from helpers.event_source import Subscriber, free_tcp_address, make_block, wait_until
from helpers.events_process import FileSource, ProcessConfig, make_setup

RUNNERS = [pytest.param(EventsProcess, id="process"), pytest.param(InProcessEvents, id="in-process")]


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    """Return an empty log."""
    return FileSource(tmp_path / "log")


def _config(source: FileSource, *topics: str, trouble: str = "") -> ProcessConfig:
    address = free_tcp_address()
    return ProcessConfig(source._path, tuple(ZmqAddress(topic, address) for topic in topics), trouble)


@contextmanager
def _running(runner: EventsRunner, from_seq: int = 0) -> Iterator[None]:
    runner.start(from_seq)
    runner.wait_ready()
    try:
        yield
    finally:
        runner.stop(1)


def _is_alive(pid: int | None) -> bool:
    if pid is None:
        return False
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("kind", RUNNERS)
def test_rows_behind_the_start_are_told_after_a_wake(kind: type[EventsProcess], source: FileSource) -> None:
    config = _config(source, "hashblock")
    source.connect(make_block(1))
    source.save()
    runner = kind(make_setup(config))
    with _running(runner, 2), Subscriber(config.addresses[0].address) as subscriber:
        assert subscriber.is_silent()
        source.connect(make_block(2))
        source.save()
        runner.wake(4)
        assert subscriber.receive(1) == [("hashblock", make_block(2).hash[::-1], 0)]


@pytest.mark.parametrize("kind", RUNNERS)
def test_offered_rows_are_told_before_they_are_in_the_log(kind: type[EventsProcess], source: FileSource) -> None:
    config = _config(source, "sequence")
    source.connect(make_block(1))
    source.save()
    runner = kind(make_setup(config))
    with _running(runner, 2), Subscriber(config.addresses[0].address) as subscriber:
        rows = [source.add_to_mempool(make_block(nonce).txs[0], nonce) for nonce in range(50)]
        runner.offer(rows)
        assert runner.sync(52, 10)
        sequences = [int.from_bytes(body[33:], "little") for _, body, _ in subscriber.receive(50)]
        assert sequences == list(range(50))
        source.save()
        runner.wake(52)
        assert subscriber.is_silent()


@pytest.mark.parametrize("kind", RUNNERS)
def test_sync_returns_when_everything_is_told(kind: type[EventsProcess], source: FileSource) -> None:
    config = _config(source, "rawtx")
    runner = kind(make_setup(config))
    with _running(runner), Subscriber(config.addresses[0].address) as subscriber:
        for nonce in range(20):
            source.connect(make_block(nonce, 50))
        source.save()
        runner.wake(40)
        assert runner.sync(40, 10)
        assert [counter for _, _, counter in subscriber.receive(1000, 1)] == list(range(1000))
        assert not runner.sync(41, 0.05)


@pytest.mark.parametrize("kind", RUNNERS)
def test_stop_tells_what_is_durable_by_then(kind: type[EventsProcess], source: FileSource) -> None:
    config = _config(source, "sequence")
    runner = kind(make_setup(config))
    runner.start(0)
    runner.wait_ready()
    source.connect(make_block(1))
    source.save()
    runner.stop(5)
    # Whether the message still leaves is up to libzmq: the socket closes without lingering, as Core's.
    if isinstance(runner, EventsProcess):
        assert runner._positions == {"zmq": 2}


@pytest.mark.parametrize("kind", RUNNERS)
def test_descriptions(kind: type[EventsProcess], source: FileSource) -> None:
    config = _config(source, "rawtx", "hashtx")
    runner = kind(make_setup(config))
    with _running(runner):
        assert [each["type"] for each in runner.descriptions()["zmq"]] == ["pubhashtx", "pubrawtx"]


@pytest.mark.parametrize("kind", RUNNERS)
@pytest.mark.parametrize(("trouble", "error"), [("config", ConfigError), ("plugin", PluginError)])
def test_failing_start_is_the_callers_error(
    kind: type[EventsProcess], trouble: str, error: type[Exception], source: FileSource
) -> None:
    runner = kind(make_setup(_config(source, trouble=trouble)))
    with pytest.raises(error):  # noqa: PT012 - one of the two, as the protocol says
        runner.start(0)
        runner.wait_ready()
        runner.wait_ready()


def test_bug_at_start_is_named_and_logged(source: FileSource, caplog: pytest.LogCaptureFixture) -> None:
    runner = EventsProcess(make_setup(_config(source, trouble="bug")))
    with pytest.raises(ConfigError, match="can't start: ZeroDivisionError: oops"):  # noqa: PT012 - as above
        runner.start(0)
        runner.wait_ready()
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("trouble", ["crash", "kill"])
def test_dead_process_is_replaced_and_nothing_is_left_out(
    trouble: str, source: FileSource, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_FIRST_PAUSE_S", 0.05)
    runner = EventsProcess(make_setup(_config(source, trouble=trouble)))
    with _running(runner):
        first = runner.pid
        if trouble == "kill":
            assert first is not None
            os.kill(first, 9)
        source.connect(make_block(1))
        source.connect(make_block(2))
        source.save()
        runner.wake(4)
        assert runner.sync(4, 30)
        wait_until(lambda: runner.pid not in (None, first))
    assert "events process: ended with status" in caplog.text


def test_hanging_notifier_does_not_keep_the_node_from_stopping(source: FileSource) -> None:
    source.connect(make_block(1))
    source.save()
    runner = EventsProcess(make_setup(_config(source, trouble="hang")))
    runner.start(0)
    runner.wait_ready()
    pid, begin = runner.pid, time.monotonic()
    runner.stop(0.5)
    assert time.monotonic() - begin < 5
    assert not _is_alive(pid)


def test_computing_plugin_hardly_delays_the_topics(source: FileSource) -> None:
    config = _config(source, "rawtx", trouble="busy")
    runner = EventsProcess(make_setup(config))
    with _running(runner), Subscriber(config.addresses[0].address) as subscriber:
        source.connect(make_block(1, 2000))
        source.save()
        begin = time.monotonic()
        runner.wake(2)
        subscriber.receive(2000)
        # 6,000 calls into libzmq would take 30 s at the interpreter's own switch interval.
        assert time.monotonic() - begin < 4


_PARENT = """
import sys, time
from pathlib import Path
from helpers.events_process import ProcessConfig, make_setup
from clarion.notifiers.process import EventsProcess
if __name__ == "__main__":
    runner = EventsProcess(make_setup(ProcessConfig(Path(sys.argv[1]))))
    runner.start(0)
    runner.wait_ready()
    print(runner.pid, flush=True)
    if sys.argv[2] == "forget":
        sys.exit(0)
    time.sleep(60)
"""


@pytest.mark.parametrize("end", ["kill", "forget"])
def test_process_never_outlives_the_node(end: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_PARENT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "log"), end], stdout=subprocess.PIPE, env=env
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if end == "kill":
            parent.kill()
        assert parent.wait(20) == (-9 if end == "kill" else 0)
    wait_until(lambda: not _is_alive(pid), 5)


def test_rows_committed_during_the_start_are_told(source: FileSource) -> None:
    config = _config(source, "rawtx")
    runner = EventsProcess(make_setup(config))
    runner.start(0)
    source.connect(make_block(1))
    source.save()
    runner.wake(2)
    assert runner.sync(2, 30)
    runner.stop(1)
