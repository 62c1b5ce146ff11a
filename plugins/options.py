"""Options that plugins add, found before the configuration is read.

Owns: which plugins the command line names. Never: reading options (node.options).
"""

import os
from collections.abc import Mapping, Sequence

from clarion.node.options.option import Option
from clarion.plugins.manager import load_plugins


def plugin_options(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> list[Option]:
    """Return the options of the plugins that are installed or named by `-plugin` in `argv` or CLARION_PLUGIN.

    A plugin that only a configuration file names can't add options: the file is read later. Raises PluginError.
    """
    environment = os.environ if environ is None else environ
    paths = environment.get("CLARION_PLUGIN", "").split() + _values(argv, "plugin")
    disabled = environment.get("CLARION_DISABLEPLUGIN", "").split() + _values(argv, "disableplugin")
    return load_plugins(paths, disabled).options()


def _values(argv: Sequence[str], name: str) -> list[str]:
    found = []
    for argument in argv:
        key, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and equals and key == name and value:
            found.append(value)
    return found
