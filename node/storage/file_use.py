"""Whether another process has a SQLite file open.

Owns: asking for SQLite's locks. Never: a file that this process has open: to close it again would give its locks up.
"""

import fcntl
import os
from pathlib import Path

from clarion.node.errors import ConfigError

# Where SQLite's connections hold their locks, in every file: whoever has one open in WAL mode holds one byte there.
_LOCK_BYTES = (0x40000000, 512)


def is_used(path: Path) -> bool:
    """Whether another process has the database open. Raises ConfigError if it may not be written to."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigError(f"Cannot open the database {path}: {error.strerror}") from None
    try:
        start, length = _LOCK_BYTES
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
