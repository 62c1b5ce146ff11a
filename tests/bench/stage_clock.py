"""Takes the time of the stages of a block while the node's own code runs.

Owns: wrapping functions for one process, wall and CPU time by stage, and how much of a stage other threads overlapped.
Never: a process that does anything else: what is wrapped stays wrapped.
"""

import functools
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clarion.node.chain import acceptance, connector, manager
from clarion.node.chain.coins_cache import CoinsCache
from clarion.node.chain.journal import Journal
from clarion.node.chain.speculation import Speculation
from clarion.node.primitives.block import Block
from clarion.node.storage.block_files import BlockFiles
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.undo_files import UndoFiles
from clarion.node.validation.pipeline import ScriptPipeline
from clarion.node.validation.process_queue import ProcessQueue

SCRIPTS = "scripts (workers)"
WAIT = "(waiting for scripts)"

TIMED: Sequence[tuple[str, Any, str]] = (
    ("decode and check", Block, "parse"),
    ("decode and check", manager, "check_block"),
    ("decode and check", acceptance, "contextual_check_block"),
    ("store", BlockFiles, "append"),
    ("fetch", connector, "prevouts_to_fetch"),
    ("fetch", CoinsCache, "fetch"),
    ("hand over scripts", ScriptPipeline, "submit"),
    (SCRIPTS, ProcessQueue, "_work_from"),
    ("connect", connector, "connect_block"),
    ("connect", CoinsCache, "connect"),
    ("undo", UndoFiles, "append"),
    ("sync files", Journal, "sync_files"),
    ("tip commit", Journal, "commit"),
    ("flush", CoinStore, "flush"),
    (WAIT, Speculation, "settle"),
)

Span = tuple[float, float]


class StageClock:
    """Spans of every stage, by thread. A stage that calls another one does not count its time."""

    def __init__(self) -> None:
        self.spans: dict[tuple[int, str], list[Span]] = defaultdict(list)
        self.cpu: dict[str, float] = defaultdict(float)
        self._local = threading.local()

    def install(self) -> None:
        """Wrap everything that is timed."""
        for stage, owner, name in TIMED:
            kept = owner.__dict__[name]
            if isinstance(kept, classmethod):
                setattr(owner, name, staticmethod(self._timed(stage, getattr(owner, name))))
            else:
                setattr(owner, name, self._timed(stage, kept))

    def _timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def run(*args: Any, **kwargs: Any) -> Any:
            stack: list[list[Any]] = self._local.__dict__.setdefault("stack", [])
            now, cpu = time.perf_counter(), time.thread_time()
            if stack:
                self._close(stack[-1], now, cpu)
            stack.append([stage, now, cpu])
            try:
                return call(*args, **kwargs)
            finally:
                now, cpu = time.perf_counter(), time.thread_time()
                self._close(stack.pop(), now, cpu)
                if stack:
                    stack[-1][1:] = now, cpu

        return run

    def _close(self, open_stage: list[Any], now: float, cpu: float) -> None:
        stage, started, cpu_started = open_stage
        self.spans[threading.get_ident(), stage].append((started, now))
        self.cpu[stage] += cpu - cpu_started

    def rows(self, worker_cpu_s: float) -> list[list[object]]:
        """Return for each stage: wall s, CPU s, and the share of its wall time in which another thread was in a stage."""
        rows: list[list[object]] = []
        for stage in dict.fromkeys(stage for stage, _, _ in TIMED):
            wall = overlapped = 0.0
            for (thread, name), spans in self.spans.items():
                if name != stage:
                    continue
                wall += sum(end - start for start, end in spans)
                others = [
                    span
                    for (other, kind), found in self.spans.items()
                    if other != thread and kind != WAIT
                    for span in found
                ]
                overlapped += common_time(spans, others)
            cpu = self.cpu[stage] + (worker_cpu_s if stage == SCRIPTS else 0)
            if wall:
                rows.append([stage, wall, cpu, f"{overlapped / wall:.0%}"])
        return rows


def _union(spans: Sequence[Span]) -> list[Span]:
    union: list[Span] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(end, union[-1][1]))
        else:
            union.append((start, end))
    return union


def common_time(spans: Sequence[Span], others: Sequence[Span]) -> float:
    """Return the seconds in which something of both lists was going on."""
    left, right = _union(spans), _union(others)
    total, at = 0.0, 0
    for start, end in left:
        while at < len(right) and right[at][1] <= start:
            at += 1
        look = at
        while look < len(right) and right[look][0] < end:
            total += min(end, right[look][1]) - max(start, right[look][0])
            look += 1
    return total


def processes_cpu_s(pids: Sequence[int]) -> float:
    """Return the CPU seconds that other processes have used so far (Linux)."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
