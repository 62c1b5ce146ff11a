"""Going into the background.

Owns: the fork of -daemon and -daemonwait. Never: anything after it. Must run before any thread is started.
"""

import os
import sys
from collections.abc import Callable

from clarion.node.errors import ConfigError

_READY = b"\x01"


def detach(log_name: str, *, wait: bool) -> Callable[[], None] | None:
    """Go on in a child process without a terminal, and return what the child must call once it is ready.

    The process that was started gets None and may end: at once, or with `wait` when the child is ready. Raises
    ConfigError if the system refuses, or if the child ends before it is ready; it then has told why in the log.
    """
    print("Clarion starting", flush=True)
    read_end, write_end = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        raise ConfigError(f"fork_daemon() failed: {error.strerror}") from None
    if child:
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            if wait and pipe.read(1) != _READY:
                raise ConfigError(f"Error during initialization - check {log_name} for details")
        return None
    os.close(read_end)
    _leave_terminal()
    return lambda: _say_ready(write_end)


def _leave_terminal() -> None:
    os.setsid()
    sys.stdout.flush()
    sys.stderr.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    if null > 2:
        os.close(null)


def _say_ready(write_end: int) -> None:
    try:
        os.write(write_end, _READY)
    except BrokenPipeError:
        # Nobody waits.
        pass
    finally:
        os.close(write_end)
