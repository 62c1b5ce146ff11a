"""The values of options that say what may be taken on trust.

Owns: their forms. Never: what is skipped because of them.
"""

from clarion.node.errors import ConfigError
from clarion.node.options.reader import OptionReader
from clarion.node.options.values import read_hex256, read_text
from clarion.node.primitives.ids import BlockHash


def read_minimum_chainwork(read: OptionReader) -> int | None:
    """Return the least work of a chain to follow, None for the network's own. Raises ConfigError."""
    value = read.settings.get("minimumchainwork")
    if value is None:
        return None
    work = read_hex256(value)
    if work is None:
        raise ConfigError(f"Invalid minimum work specified ({read_text(value)}), must be up to 64 hex digits")
    return work


def read_assume_valid(read: OptionReader) -> BlockHash | None:
    """Return the block whose ancestors' scripts are not run, None for the network's own. Raises ConfigError."""
    value = read.settings.get("assumevalid")
    if value is None:
        return None
    number = read_hex256(value)
    if number is None:
        raise ConfigError(
            f"Invalid assumevalid block hash specified ({read_text(value)}), must be up to 64 hex digits (or 0 to "
            "disable)"
        )
    return BlockHash(number.to_bytes(32, "little"))
