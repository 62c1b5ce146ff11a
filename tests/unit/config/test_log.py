"""debug.log: categories, levels, format, and what it does when it can't be written."""

import io
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.config import Config, create_directories, load_config
from clarion.node.errors import ConfigError
from clarion.node.log import CATEGORIES, Log, LogFilter, category_of, init_message, log_start, shrink_log


@pytest.fixture(autouse=True)
def restore_levels() -> Iterator[None]:
    yield
    LogFilter(["all"]).apply()
    for name in list(logging.Logger.manager.loggerDict):
        if name.startswith("clarion"):
            logging.getLogger(name).setLevel(logging.NOTSET)


def start(folder: Path, *argv: str) -> tuple[Config, Log]:
    config = load_config([f"-datadir={folder}", "-regtest", "-printtoconsole=0", *argv], {})
    create_directories(config)
    return config, Log(config)


def lines(config: Config) -> list[str]:
    assert config.debug_log_file is not None
    return [line for line in config.debug_log_file.read_text().splitlines() if line]


def test_format(tmp_path: Path) -> None:
    config, log = start(tmp_path, "-debug=net", "-logthreadnames", "-logtimemicros", "-logsourcelocations")
    with log:
        logging.getLogger("clarion.node.net.peer").debug("hello %d", 1)
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
    assert re.fullmatch(
        rf"{stamp} \[MainThread\] \[clarion\.node\.net\.peer:\d+\] \[test_format\] \[net\] hello 1", lines(config)[0]
    )


@pytest.mark.parametrize(
    ("level", "always", "expected"),
    [
        (logging.INFO, False, "text"),
        (logging.WARNING, False, "[warning] text"),
        (logging.ERROR, False, "[error] text"),
        (logging.DEBUG, False, "[net] text"),
        (5, False, "[net:trace] text"),
        (logging.INFO, True, "[all:info] text"),
        (logging.DEBUG, True, "[net:debug] text"),
    ],
)
def test_level_prefix(tmp_path: Path, level: int, always: bool, expected: str) -> None:
    options = ["-debug=net", "-nologtimestamps", "-loglevel=trace", *(["-loglevelalways"] if always else [])]
    config, log = start(tmp_path, *options)
    with log:
        logging.getLogger("clarion.node.net").log(level, "text")
    assert lines(config) == [expected]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], set()),
        (["-debug"], set(CATEGORIES)),
        (["-debug=net", "-debug=zmq"], {"net", "zmq"}),
        (["-debug=all", "-debugexclude=leveldb"], set(CATEGORIES) - {"leveldb"}),
        (["-debug=net", "-debug=0", "-debug=zmq"], {"zmq"}),
        (["-nodebug"], set()),
    ],
)
def test_categories(tmp_path: Path, options: list[str], expected: set[str]) -> None:
    _, log = start(tmp_path, *options)
    with log:
        assert {name for name, active in log.filter.active().items() if active} == expected


def test_silent_category_is_not_written(tmp_path: Path) -> None:
    config, log = start(tmp_path, "-debug=net", "-nologtimestamps")
    with log:
        logging.getLogger("clarion.node.mempool").debug("no")
        logging.getLogger("clarion.node.net").debug("yes")
        log.filter.change(["mempool"], ["net"])
        logging.getLogger("clarion.node.mempool").debug("now")
        logging.getLogger("clarion.node.net").debug("no more")
    assert lines(config) == ["[net] yes", "[mempool] now"]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("clarion.node.chain.connector", "validation"),
        ("clarion.api.rpc.blockchain", "rpc"),
        ("clarion.api.server", "http"),
        ("clarion.zmq", "zmq"),
        ("clarion.node.app", ""),
        ("clarion", ""),
    ],
)
def test_category_of_logger(name: str, category: str) -> None:
    assert category_of(name) == category


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    config, log = start(tmp_path, "-nologtimestamps")
    with log:
        init_message("bad\x1b[1m\x7f")
    assert lines(config) == ["init message: bad\\x1b[1m\\x7f"]


def test_start_lines_hide_secrets(tmp_path: Path) -> None:
    config, log = start(tmp_path, "-rpcpassword=geheim", "-rpcport=1", "-disablewallet")
    with log:
        log_start(config, "1.2.3")
    text = "\n".join(lines(config))
    assert "Clarion version 1.2.3" in text
    assert "Command-line arg: rpcpassword=****" in text
    assert 'Command-line arg: rpcport="1"' in text
    assert "geheim" not in text
    assert "[warning] These options mean nothing here and are ignored: -disablewallet" in text


def test_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    _, log = start(tmp_path, "-printtoconsole", "-nodebuglogfile", "-nologtimestamps")
    with log:
        init_message("Done loading")
    assert out.getvalue() == "init message: Done loading\n"
    assert not (tmp_path / "regtest" / "debug.log").exists()


def test_shrink(tmp_path: Path) -> None:
    path = tmp_path / "debug.log"
    path.write_bytes(b"a" * 2_000_000 + b"b" * 10_000_000)
    shrink_log(path)
    assert path.read_bytes() == b"b" * 10_000_000


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-debug=nonsense", "Unsupported logging category -debug=nonsense."),
        ("-debugexclude=nonsense", "Unsupported logging category -debugexclude=nonsense."),
        ("-loglevel=loud", "Unsupported global logging level -loglevel=loud. Valid values: info, debug, trace."),
        ("-loglevel=net:loud", "Unsupported category-specific logging level -loglevel=net:loud."),
        ("-debuglogfile=/absent/debug.log", "Could not open debug log file /absent/debug.log"),
    ],
)
def test_wrong_options(tmp_path: Path, option: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start(tmp_path, option)
    assert message in str(caught.value)
