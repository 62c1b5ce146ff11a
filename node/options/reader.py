"""Typed access to merged settings.

Owns: one method for each kind of value. Never: defaults, which belong to the configuration.
"""

from pathlib import Path

from clarion.node.options.load import absolute
from clarion.node.options.settings import Settings
from clarion.node.options.values import read_flag, read_number, read_text


class OptionReader:
    """Typed access by option name."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def flag(self, name: str, default: bool) -> bool:
        value = self.settings.get(name)
        return default if value is None else read_flag(name, value)

    def number(self, name: str, default: int, least: int | None = None, most: int | None = None) -> int:
        value = self.settings.get(name)
        return default if value is None or value == "" else read_number(name, value, least, most)

    def text(self, name: str, default: str = "") -> str:
        value = self.settings.get(name)
        return default if value is None else read_text(value)

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(read_text(value) for value in self.settings.get_all(name))

    def path(self, name: str, default: str, base: Path) -> Path | None:
        """Return an absolute path, None for `-noname`."""
        value = self.settings.get(name)
        if value is False:
            return None
        return absolute(value if isinstance(value, str) and value else default, base)
