"""When old rows of the mempool leave the event log.

Owns: the rhythm. Never: which rows (`node.storage.retention`).
"""

import threading
import time

from clarion.node.config import Config
from clarion.node.scheduler import Scheduler
from clarion.node.storage.database import Database

INTERVAL_S = 60
STEPS_A_TURN = 100
"""Of 500 rows each: more than the busiest mempool adds in a minute."""

PAUSE_S = 0.02
"""Between two steps, for the tip commits that wait."""

_DAY_S = 86_400


def keep_event_log_short(config: Config, database: Database, scheduler: Scheduler, stop: threading.Event) -> None:
    """Have old rows deleted now and then, as -eventretention says."""
    days = config.event_retention_days

    def turn() -> None:
        before = int(time.time()) - days * _DAY_S
        for _ in range(STEPS_A_TURN):
            if stop.is_set() or not database.retention.step(before, database.chain.last_seq):
                return
            stop.wait(PAUSE_S)

    if days:
        scheduler.every(INTERVAL_S, turn)
