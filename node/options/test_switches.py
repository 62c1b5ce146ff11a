"""The values of -test.

Owns: which there are. Never: what they switch.
"""

from collections.abc import Sequence

from clarion.node.errors import ConfigError

TEST_SWITCHES = ("addrman", "reindex_after_failure_noninteractive_yes", "bip94")


def read_test_switches(chain: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of -test, which only regtest knows. Raises ConfigError."""
    if values and chain != "regtest":
        raise ConfigError("-test=<option> can only be used with regtest")
    for value in values:
        if value not in TEST_SWITCHES:
            raise ConfigError(f'Unrecognised option "{value}" provided in -test=<option>.')
    return tuple(values)
