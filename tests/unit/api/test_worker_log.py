"""Log lines of API workers, read by the thread that watches them and by the one that stops them."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from clarion.api.workers import _Worker


class Pipe:
    """Holds lines, and notes whether anybody reads one while another reads."""

    def __init__(self, lines: int) -> None:
        self.left = lines
        self.readers = 0
        self.most = 0

    def poll(self) -> bool:
        return self.left > 0

    def recv(self) -> tuple[str, str, int, str]:
        self.readers += 1
        self.most = max(self.most, self.readers)
        time.sleep(0.002)
        self.left -= 1
        self.readers -= 1
        return "log", "clarion.http", logging.DEBUG, "a line"


def test_one_thread_at_a_time_reads_a_workers_lines() -> None:
    pipe = Pipe(20)
    worker = _Worker(cast(Any, None), cast(Any, pipe), {})
    with ThreadPoolExecutor(2) as pool:
        for reading in [pool.submit(worker.log) for _ in range(2)]:
            reading.result()
    assert (pipe.left, pipe.most) == (0, 1)
