"""Texts that peers send.

Owns: which characters are let through. Never: their meaning.
"""

_SANE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,;-_/:?@()")


def sanitize(text: str) -> str:
    """Return a peer's text without what could upset a log or an answer."""
    return "".join([char for char in text if char in _SANE])
