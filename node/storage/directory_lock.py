"""One program a directory: the `.lock` file that the reference uses too.

Owns: the lock and its wording. Never: what lies in the directory.
"""

import fcntl
import os
from pathlib import Path

from clarion.node.errors import ConfigError

LOCK_FILE = ".lock"

# A POSIX record lock belongs to the process, which could take it twice; this set refuses that.
_held: set[str] = set()


class DirectoryLock:
    """A held lock on one or several directories. The system drops it when the process ends, however it ends."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, str]] = []

    def add(self, folder: Path) -> None:
        """Lock another directory, which exists. Raises ConfigError if it is taken or can't be written to."""
        key = os.path.realpath(folder)
        taken = ConfigError(f"Cannot obtain a lock on directory {folder}. Clarion is probably already running.")
        if key in _held:
            raise taken
        try:
            fd = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            raise ConfigError(f"Cannot write to directory '{folder}'; check permissions.") from None
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise taken from None
        _held.add(key)
        self._taken.append((fd, key))

    def release(self) -> None:
        """Give the directories free. Does nothing the second time."""
        while self._taken:
            fd, key = self._taken.pop()
            _held.discard(key)
            os.close(fd)


def lock_directory(*folders: Path) -> DirectoryLock:
    """Return the lock on existing directories, or raise ConfigError if one is taken or can't be written to."""
    lock = DirectoryLock()
    try:
        for folder in folders:
            lock.add(folder)
    except ConfigError:
        lock.release()
        raise
    return lock
