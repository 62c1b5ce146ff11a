"""Files that many tests need and that are dear to make: made once in a run, also where several workers share it.

Owns: the place and the lock. Never: what is in them.
"""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

WORKER_VARIABLE = "PYTEST_XDIST_WORKER"


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder `name` of this run, which `make` has filled. Tests must leave it as it is."""
    base = factory.getbasetemp()
    shared = base.parent if WORKER_VARIABLE in os.environ else base
    folder, done = shared / f"made-{name}", shared / f"made-{name}.done"
    with (shared / f"made-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
