"""Clarion, a Bitcoin event node. The packages behind this name are links to the folders at the project's root."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("clarion")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"
