"""A script worker's process.

Owns: its loop. Never: anything of the node: it knows transactions, spent outputs and flags only.
"""

import contextlib
import gc
from multiprocessing.connection import Connection
from typing import Protocol

from clarion.node.child_process import ignore_stop_signals
from clarion.node.validation.inline_queue import check_units
from clarion.node.validation.wire import decode_batch, encode_answer


class SharedPosition(Protocol):
    """The lowest failed position, in memory that the node and all workers share."""

    value: int


def run_worker(pipe: Connection, first_failure: SharedPosition) -> None:
    """Answer batches until the pipe closes, which it also does when the node dies.

    The node ends its workers itself: signals that a terminal or a supervisor sends to the whole group are ignored, so
    that a block in work is finished and the node can stop cleanly.
    """
    ignore_stop_signals()
    # What a batch makes is gone with it: nothing is worth walking.
    gc.freeze()
    gc.set_threshold(100_000)
    with contextlib.suppress(EOFError, OSError), pipe:
        while True:
            flags, units = decode_batch(pipe.recv_bytes())
            found = check_units(units, flags, lambda: first_failure.value)
            if found is not None:
                # Another worker may write at the same time: the node keeps the minimum of the answers anyway.
                first_failure.value = min(first_failure.value, found.position)
            pipe.send_bytes(encode_answer(found))
