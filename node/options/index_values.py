"""The values of the indexes' options.

Owns: which indexes the operator wants, and what they can't stand beside. Never: building them.
"""

from clarion.node.errors import ConfigError
from clarion.node.options.reader import OptionReader

FILTER_TYPES = ("basic",)


def read_filter_types(read: OptionReader) -> tuple[str, ...]:
    """Return the types of -blockfilterindex. Raises ConfigError in the reference's words."""
    names = read.texts("blockfilterindex")
    last = names[-1] if names else "0"
    if last in ("", "1"):
        return FILTER_TYPES
    if last == "0":
        return ()
    for name in names:
        if name not in FILTER_TYPES:
            raise ConfigError(f"Unknown -blockfilterindex value {name}.")
    return tuple(kind for kind in FILTER_TYPES if kind in names)


def read_peer_block_filters(read: OptionReader) -> bool:
    """Return whether peers are served filters. Raises ConfigError in the reference's words if there are none."""
    wanted = read.flag("peerblockfilters", False)
    if wanted and "basic" not in read_filter_types(read):
        raise ConfigError("Cannot set -peerblockfilters without -blockfilterindex.")
    return wanted
