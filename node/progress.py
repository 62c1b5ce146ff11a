"""Progress of long work: a bar on a terminal, a line in ten seconds elsewhere.

Owns: how progress looks. Never: the work. Safe to use from one thread at a time.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

LINE_INTERVAL_S = 10.0


class Progress(Protocol):
    """What work reports to."""

    def advance(self, amount: int, items: int = 0) -> None:
        """`amount` more of the total is done; `items` are counted beside it (blocks while bytes are the total)."""
        ...


@contextmanager
def show_progress(
    title: str, total: int, items: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Show progress of work of `total` bytes until the block ends. `items` names what is counted, such as `blocks`."""
    stream = sys.stderr if stream is None else stream
    if stream.isatty():
        with _bar(title, total, items, stream) as bar:
            yield bar
        return
    lines = _Lines(title, total, items, stream, clock)
    yield lines
    lines.show()


class _Lines:
    """One line in ten seconds, and one at the end."""

    def __init__(self, title: str, total: int, items: str, stream: TextIO, clock: Callable[[], float]) -> None:
        self._title = title
        self._total = total
        self._items = items
        self._stream = stream
        self._clock = clock
        self._started = self._shown = clock()
        self._done = 0
        self._count = 0

    def advance(self, amount: int, items: int = 0) -> None:
        """Count, and show a line if it is time."""
        self._done += amount
        self._count += items
        if self._clock() - self._shown >= LINE_INTERVAL_S:
            self.show()

    def show(self) -> None:
        """Write a line."""
        self._shown = self._clock()
        seconds = max(self._shown - self._started, 1e-9)
        percent = 100 * self._done / self._total if self._total else 100.0
        left = (self._total - self._done) * seconds / self._done if self._done else 0
        text = (
            f"{self._title}: {percent:.1f}%, {self._count} {self._items}, {self._count / seconds:.0f} {self._items}/s, "
            f"{self._done / seconds / 1e6:.1f} MB/s, {_duration(left)} left"
        )
        self._stream.write(text + "\n")
        self._stream.flush()


@contextmanager
def _bar(title: str, total: int, items: str, stream: TextIO) -> Iterator[Progress]:
    # Imported here: rich is slow to import, and nobody needs it without a terminal.
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[count]} {task.fields[items]}"),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(file=stream)) as rich:
        task = rich.add_task(title, total=total, count=0, items=items)
        count = 0

        class Bar:
            def advance(self, amount: int, items: int = 0) -> None:
                nonlocal count
                count += items
                rich.update(task, advance=amount, count=count)

        yield Bar()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
