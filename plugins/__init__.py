"""Plugins: the hooks, who implements them, and what comes with the node. `hookimpl` marks a plugin's hooks."""

from clarion.plugins.hookspecs import hookimpl as hookimpl
