"""debug.log and the console, in the reference's style.

Owns: categories, format, the log file. Never: what is logged. Loggers are the standard library's: a module logs to
`logging.getLogger(__name__)`, and what it logs below INFO belongs to the category that its package stands for.
"""

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from clarion.node.config import Config
from clarion.node.errors import ConfigError

TRACE = 5
"""Level below DEBUG, for `-loglevel=trace`."""

_CATEGORY_NAMES = (
    "addrman bench blockstorage cmpctblock coindb estimatefee http i2p ipc kernel leveldb mempool mempoolrej net "
    "privatebroadcast proxy prune qt rand reindex rpc scan selectcoins tor txpackages txreconciliation validation "
    "walletdb zmq"
)
CATEGORIES = tuple(_CATEGORY_NAMES.split())
"""The reference's categories, sorted as its `logging` call tells them."""

DEPRECATED_CATEGORY = "libevent"
"""Accepted as the reference does; nothing is logged under it."""

_PACKAGES = {
    "clarion.api": "http",
    "clarion.api.rpc": "rpc",
    "clarion.control": "ipc",
    "clarion.node.chain": "validation",
    "clarion.node.chain.block_scan": "reindex",
    "clarion.node.chain.prune": "prune",
    "clarion.node.chain.reindex": "reindex",
    "clarion.node.control": "ipc",
    "clarion.node.mempool": "mempool",
    "clarion.node.mempool.fees": "estimatefee",
    "clarion.node.mempool.orphanage": "txpackages",
    "clarion.node.net": "net",
    "clarion.node.net.addrman": "addrman",
    "clarion.node.storage": "blockstorage",
    "clarion.node.storage.coin_store": "coindb",
    "clarion.node.validation": "validation",
    "clarion.notifiers": "zmq",
}
_LEVELS = {"trace": TRACE, "debug": logging.DEBUG, "info": logging.INFO}
_ALL = ("", "1", "all")
_NONE = ("0", "none")
_SHRINK_ABOVE_BYTES = 11_000_000
_SHRINK_TO_BYTES = 10_000_000
_ROOT = "clarion"


class LogFilter:
    """Which categories are logged, and from which level. Info, warnings and errors always are."""

    def __init__(self, include: Sequence[str] = (), exclude: Iterable[str] = (), levels: Iterable[str] = ()) -> None:
        """`include` and `exclude` as -debug and -debugexclude, `levels` as -loglevel. Raises ConfigError."""
        self._active: set[str] = set()
        self._level = logging.DEBUG
        self._category_levels: dict[str, int] = {}
        last_none = max((i + 1 for i, name in enumerate(include) if name in _NONE), default=0)
        for name in include[last_none:]:
            self._active |= _categories(name, "-debug")
        for name in exclude:
            self._active -= _categories(name, "-debugexclude")
        for text in levels:
            self._set_level(text)

    def active(self) -> dict[str, bool]:
        """Return every category with whether it is logged."""
        return {name: name in self._active for name in CATEGORIES}

    def change(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        """Switch categories on, then others off. Raises ConfigError, with nothing changed, for an unknown one."""
        include, exclude = list(include), list(exclude)
        for name in {*include, *exclude} & {DEPRECATED_CATEGORY}:
            logging.getLogger(_ROOT).warning("The logging category `%s` is deprecated and does nothing", name)
        on = set().union(*(_categories(name, "-debug") for name in include))
        off = set().union(*(_categories(name, "-debugexclude") for name in exclude))
        self._active = (self._active | on) - off
        self.apply()

    def apply(self) -> None:
        """Give the loggers their levels, so that a line that nobody wants costs next to nothing."""
        everything = len(self._active) == len(CATEGORIES)
        logging.getLogger(_ROOT).setLevel(self._level if everything else logging.INFO)
        for package, category in _logger_categories():
            logging.getLogger(package).setLevel(self._level_of(category))

    def _level_of(self, category: str) -> int:
        if category not in self._active:
            return logging.INFO
        return self._category_levels.get(category, self._level)

    def _set_level(self, text: str) -> None:
        category, colon, level = text.rpartition(":")
        if level not in _LEVELS or (colon and category not in (*CATEGORIES, *_ALL)):
            known = ", ".join(sorted(_LEVELS, key=_LEVELS.__getitem__, reverse=True))
            if colon:
                raise ConfigError(
                    f"Unsupported category-specific logging level -loglevel={text}. Expected -loglevel=<category>:"
                    f"<loglevel>. Valid categories: {', '.join(CATEGORIES)}. Valid loglevels: {known}."
                )
            raise ConfigError(f"Unsupported global logging level -loglevel={text}. Valid values: {known}.")
        if colon:
            self._category_levels.update(dict.fromkeys(_categories(category, "-loglevel"), _LEVELS[level]))
        else:
            self._level = _LEVELS[level]


class LineFormatter(logging.Formatter):
    """One line a record: time, thread, place, category and level, message, each as options ask for it."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self._timestamps = config.log_timestamps
        self._micros = config.log_time_micros
        self._threads = config.log_thread_names
        self._places = config.log_source_locations
        self._always = config.log_level_always
        self.mock_time = 0

    def format(self, record: logging.LogRecord) -> str:
        """Return the line with its line feed; control characters are escaped."""
        text = _escape(record.getMessage())
        if record.exc_info:
            text = f"{text.rstrip()}\n{self.formatException(record.exc_info)}"
        parts = [self._time(record.created) if self._timestamps else ""]
        if self._threads:
            parts.append(f"[{record.threadName}] ")
        if self._places:
            parts.append(f"[{record.name}:{record.lineno}] [{record.funcName}] ")
        parts += [self._level(record), text, "" if text.endswith("\n") else "\n"]
        return "".join(parts)

    def _time(self, created: float) -> str:
        stamp = _iso_time(int(created))
        if self._micros:
            stamp = f"{stamp[:-1]}.{int(created % 1 * 1_000_000):06d}Z"
        return f"{stamp} (mocktime: {_iso_time(self.mock_time)}) " if self.mock_time else f"{stamp} "

    def _level(self, record: logging.LogRecord) -> str:
        # Above DEBUG the reference's lines carry no category: they are for everybody.
        category = category_of(record.name) if record.levelno <= logging.DEBUG else ""
        level = "trace" if record.levelno <= TRACE else record.levelname.lower()
        if self._always:
            return f"[{category or 'all'}:{level}] "
        if category:
            return f"[{category}] " if level == "debug" else f"[{category}:{level}] "
        return "" if level == "info" else f"[{level}] "


class LineHandler(logging.Handler):
    """Writes whole lines with one system call each, so that lines of several processes do not mix.

    A log that can't be written (full disk) never stops the node.
    """

    def __init__(self, path: Path | None, console: bool) -> None:
        """Raises ConfigError if the file can't be opened."""
        super().__init__(TRACE)
        self._path = path
        self._console = console
        self._file = -1
        self.reopen()

    def reopen(self) -> None:
        """Open the file again, after somebody moved it away."""
        if self._path is None:
            return
        try:
            fresh = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            raise ConfigError(f"Could not open debug log file {self._path}") from None
        self._file, old = fresh, self._file
        if old >= 0:
            os.close(old)

    def write(self, text: str) -> None:
        """Write `text` to the file only."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.write(self._file, text.encode("utf-8", "backslashreplace"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        self.write(line)
        if self._console:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.write(line)
                sys.stdout.flush()

    def close(self) -> None:
        """Close the file. The console stays open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        super().close()


class Log:
    """The running log of one process. Use it as a context manager or call `close`."""

    def __init__(self, config: Config, *, first: bool = True) -> None:
        """Start logging. `first`: this is the node's own process, which shortens the file and marks a new run.

        Raises ConfigError for an unknown category or level, or if the file can't be opened.
        """
        self.filter = LogFilter(config.debug, config.debug_exclude, config.log_levels)
        path = config.debug_log_file
        if first and path is not None and config.shrink_debug_file:
            shrink_log(path)
        self.formatter = LineFormatter(config)
        self.handler = LineHandler(path, config.print_to_console)
        self.handler.setFormatter(self.formatter)
        if first:
            self.handler.write("\n\n\n\n\n")
        root = logging.getLogger(_ROOT)
        root.addHandler(self.handler)
        root.propagate = False
        self.filter.apply()

    def close(self) -> None:
        """Stop logging and close the file."""
        root = logging.getLogger(_ROOT)
        root.removeHandler(self.handler)
        root.propagate = True
        self.handler.close()

    def __enter__(self) -> "Log":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def init_message(text: str) -> None:
    """Log a step of the start, in the words that the reference's tests wait for."""
    logging.getLogger(_ROOT).info("init message: %s", text)


def log_start(config: Config, version: str) -> None:
    """Log what a reader of the log needs first: version, folders, options, warnings."""
    log = logging.getLogger(_ROOT)
    log.info("Clarion version %s", version)
    log.info("Log output may contain privacy-sensitive information. Be cautious when sharing logs.")
    if not config.log_timestamps:
        log.info("Startup time: %s", _iso_time(int(time.time())))
    log.info("Using data directory %s", config.chain_dir)
    path = config.conf_path
    if path is None:
        log.info("Config file: <disabled>")
    else:
        log.info("Config file: %s%s", path, "" if path.exists() else " (not found, skipping)")
    for line in option_lines(config):
        log.info("%s", line)
    for text in (*config.warnings, *config.notes):
        log.warning("%s", text)


def option_lines(config: Config) -> list[str]:
    """Return a line for each value that a source gave, with secrets starred."""
    settings = config.settings
    sources = [("Command-line arg: ", settings.command_line), ("Environment: ", settings.environment)]
    sources += [
        (f"Config file arg: [{section}] " if section else "Config file arg: ", values)
        for section, values in settings.file.items()
        if section in ("", config.chain)
    ]
    lines = []
    for prefix, values in sources:
        for name, given in values.items():
            for value in given:
                shown = (
                    "****"
                    if name in settings.sensitive
                    else str(value).lower()
                    if value in (True, False)
                    else f'"{value}"'
                )
                lines.append(f"{prefix}{name}={shown}")
    return lines


def shrink_log(path: Path) -> None:
    """Keep the last 10 MB of a log file of more than 11 MB."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > _SHRINK_ABOVE_BYTES:
            with path.open("rb") as file:
                file.seek(-_SHRINK_TO_BYTES, os.SEEK_END)
                kept = file.read()
            path.write_bytes(kept)


def category_of(logger_name: str) -> str:
    """Return the category of a logger: that of the longest package name that it starts with, else an empty one."""
    name = logger_name
    while name and name != _ROOT:
        category = _PACKAGES.get(name)
        if category:
            return category
        parent, _, last = name.rpartition(".")
        if parent == _ROOT and last in CATEGORIES:
            return last
        name = parent
    return ""


def _logger_categories() -> list[tuple[str, str]]:
    return [*_PACKAGES.items(), *((f"{_ROOT}.{category}", category) for category in CATEGORIES)]


def _categories(name: str, option: str) -> set[str]:
    if name in _ALL:
        return set(CATEGORIES)
    if name == DEPRECATED_CATEGORY:
        return set()
    if name not in CATEGORIES:
        raise ConfigError(f"Unsupported logging category {option}={name}.")
    return {name}


def _iso_time(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _escape(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if (c >= " " or c == "\n") and c != "\x7f" else f"\\x{ord(c):02x}" for c in text)
