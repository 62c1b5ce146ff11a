"""Going into the background.

Owns: the fork of -daemon. Never: anything after it. Must run before any thread is started.
"""

import os
import sys

from clarion.node.errors import ConfigError


def detach() -> bool:
    """Return False in the process that was started and True in its child, which has no terminal any more.

    Raises ConfigError if the system refuses.
    """
    print("Clarion starting", flush=True)
    try:
        if os.fork():
            return False
        os.setsid()
    except OSError as error:
        raise ConfigError(f"fork_daemon() failed: {error.strerror}") from None
    sys.stdout.flush()
    sys.stderr.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    if null > 2:
        os.close(null)
    return True
