"""Children that are started behind the terminal's back.

Owns: keeping Ctrl-C and SIGTERM away from a child from its first instruction on. Never: what a child does.
A terminal and many supervisors signal the whole process group; the node alone decides when its children end.
"""

import signal
from multiprocessing.process import BaseProcess

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def start_shielded(process: BaseProcess) -> None:
    """Start a child of the spawn method that inherits blocked stop signals, else its imports end in a traceback.

    The child must call `ignore_stop_signals` when it is ready.
    """
    old = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def ignore_stop_signals() -> None:
    """Ignore the stop signals for good. Runs in the child, on its main thread."""
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
