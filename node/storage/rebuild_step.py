"""Where a rebuild stands, as it is stored.

Owns: the names of the steps. Never: taking one.
"""

from enum import Enum

REBUILD_KEY = "rebuild"
"""Setting of the chain database that names the next step of -reindex or -reindex-chainstate."""


class Rebuild(Enum):
    """The steps of -reindex and -reindex-chainstate, as they are stored."""

    NONE = b""
    WIPE_ALL = b"wipe-all"
    WIPE_CHAINSTATE = b"wipe-chainstate"
    INDEX = b"index"
    """The block files are read into the block index."""
    CONNECT = b"connect"
    """The blocks of the index are connected again."""
