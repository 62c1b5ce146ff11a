"""How much processor time the processes of a node have taken, by what they do.

Owns: reading /proc (Linux). Never: measuring how long anything takes.
"""

import os
from contextlib import suppress
from pathlib import Path

from helpers.node import process_ids_below

_TICKS = os.sysconf("SC_CLK_TCK")


def seconds_by_role(pid: int, events_pid: int | None) -> dict[str, float]:
    """Return the seconds that a node and those below it have taken; libzmq's own threads in the events process apart."""
    found: dict[str, float] = {}
    for each in (pid, *process_ids_below(pid)):
        for thread, seconds in _threads(each):
            role = "node" if each == pid else "its other processes"
            if each == events_pid:
                role = "events process: libzmq" if "ZMQbg" in thread else "events process: Python"
            found[role] = found.get(role, 0.0) + seconds
    return found


def _threads(pid: int) -> list[tuple[str, float]]:
    """Return (name, seconds of user and system time) of each thread of a process."""
    found = []
    for each in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            name, _, rest = each.read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            found.append((name, (int(fields[11]) + int(fields[12])) / _TICKS))
    return found
