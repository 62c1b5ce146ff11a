"""Values of the options that change a test chain's rules.

Owns: their syntax and the reference's words for wrong ones. Never: chain parameters.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clarion.node.errors import ConfigError

BURIED_NAMES = ("segwit", "bip34", "dersig", "cltv", "csv")
VERSION_BITS_NAMES = ("testdummy",)
_TEST_SWITCHES = ("addrman", "reindex_after_failure_noninteractive_yes", "bip94")
_MAX_HEIGHT = 0x7FFFFFFE


class Deployments(NamedTuple):
    """Activation heights by name, and version bits parameters as (start, timeout, minimal height) by name."""

    heights: Mapping[str, int]
    vbparams: Mapping[str, tuple[int, int, int]]


def read_deployments(heights: Sequence[str], vbparams: Sequence[str]) -> Deployments:
    """Return what -testactivationheight and -vbparams say. Raises ConfigError."""
    return Deployments(dict(_activation_height(text) for text in heights), dict(_vbparams(text) for text in vbparams))


def read_signet_challenge(values: Sequence[str]) -> bytes | None:
    """Return the script of -signetchallenge, None if it is not given. Raises ConfigError."""
    if not values:
        return None
    if len(values) > 1:
        raise ConfigError("-signetchallenge cannot be multiple values.")
    try:
        return bytes.fromhex(values[0])
    except ValueError:
        raise ConfigError(f"-signetchallenge must be hex, not '{values[0]}'.") from None


def read_test_switches(chain: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of -test, which only regtest knows. Raises ConfigError."""
    if values and chain != "regtest":
        raise ConfigError("-test=<option> can only be used with regtest")
    for value in values:
        if value not in _TEST_SWITCHES:
            raise ConfigError(f'Unrecognised option "{value}" provided in -test=<option>.')
    return tuple(values)


def _activation_height(text: str) -> tuple[str, int]:
    name, at, height_text = text.partition("@")
    if not at:
        raise ConfigError(f"Invalid format ({text}) for -testactivationheight=name@height.")
    height = _integer(height_text)
    if height is None or not 0 <= height <= _MAX_HEIGHT:
        raise ConfigError(f"Invalid height value ({text}) for -testactivationheight=name@height.")
    if name not in BURIED_NAMES:
        raise ConfigError(f"Invalid name ({text}) for -testactivationheight=name@height.")
    return name, height


def _vbparams(text: str) -> tuple[str, tuple[int, int, int]]:
    parts = text.split(":")
    if len(parts) not in (3, 4):
        raise ConfigError("Version bits parameters malformed, expecting deployment:start:end[:min_activation_height]")
    numbers = []
    for name, part in zip(("nStartTime", "nTimeout", "min_activation_height"), [*parts[1:], "0"], strict=False):
        number = _integer(part)
        if number is None:
            raise ConfigError(f"Invalid {name} ({part})")
        numbers.append(number)
    if parts[0] not in VERSION_BITS_NAMES:
        raise ConfigError(f"Invalid deployment ({parts[0]})")
    return parts[0], (numbers[0], numbers[1], numbers[2])


def _integer(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() else None
