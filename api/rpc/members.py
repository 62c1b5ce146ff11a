"""Decoded JSON objects whose members may be named twice.

Owns: a dictionary that keeps every pair. Never: what a doubled name means.
"""

from typing import Any


class Members(dict[str, Any]):
    """An object with its `pairs` in the order in which they were sent, doubled names included."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__()
        self.pairs = pairs
        self.doubled: str | None = None
        """The first name that stands twice."""
        for name, value in pairs:
            # The first value counts, as in the reference.
            if name in self and self.doubled is None:
                self.doubled = name
            self.setdefault(name, value)


def pairs_of(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the pairs of an object, all of them if its doubled names were kept."""
    return value.pairs if isinstance(value, Members) else list(value.items())
