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
    """Return the folder `name` of this run, which `make` has filled. Nobody may change what is in it."""
    base = factory.getbasetemp()
    shared = base.parent if WORKER_VARIABLE in os.environ else base
    folder = shared / f"made-{name}"
    with (shared / f"made-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = shared / f"made-{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder
