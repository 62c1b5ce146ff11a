"""The value of -prune.

Owns: its limits and what it can't stand beside. Never: pruning.
"""

from clarion.node.errors import ConfigError
from clarion.node.options.reader import OptionReader

MIN_PRUNE_MIB = 550


def read_prune(read: OptionReader) -> int:
    """Return the target in MiB; 0: no pruning, 1: by hand only. Raises ConfigError with the reference's words."""
    target = read.number("prune", 0)
    if target < 0:
        raise ConfigError("Prune cannot be configured with a negative value.")
    if 1 < target < MIN_PRUNE_MIB:
        raise ConfigError(f"Prune configured below the minimum of {MIN_PRUNE_MIB} MiB. Please use a higher number.")
    if target:
        for index in ("txindex", "txospenderindex"):
            if read.flag(index, False):
                raise ConfigError(f"Prune mode is incompatible with -{index}.")
        if read.flag("reindex-chainstate", False):
            raise ConfigError("Prune mode is incompatible with -reindex-chainstate. Use full -reindex instead.")
    return target
