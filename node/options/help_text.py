"""The text of -help.

Owns: its layout. Never: the options.
"""

import textwrap

from clarion.node.options.option import Category, Effect, Option
from clarion.node.options.table import OptionTable

_OPTION_INDENT = 2
_TEXT_INDENT = 7
_WIDTH = 79

_USAGE = """\
Clarion validates blocks by the full rules of Bitcoin, keeps the chainstate in SQL and tells events.

Usage:  clarion [options]                 run the node in the foreground
        clarion [options] import FILE...  load blocks from blk files or folders, then end
        clarion [options] events WORD...  follow events (tail, replay), look after delivery (lanes)
        clarion [options] db check         look for inconsistencies in what is stored
        clarion [options] db dump FILE     write the whole chain to one file
        clarion [options] db restore FILE  bring it back, on any database
        clarion [options] api              serve RPC and REST from a node's database, beside it or elsewhere

Options have one dash or two. They are read from the command line, then from variables
CLARION_<NAME>, then from bitcoin.conf in the data directory: what comes first counts.
"""


def help_text(table: OptionTable, version: str, *, debug: bool) -> str:
    """Return the whole text; options for debugging only with `debug`."""
    parts = [f"Clarion version {version}\n\n", _USAGE]
    for category in Category:
        options = [option for option in table if option.category is category and (debug or not option.debug_only)]
        if options and category is not Category.HIDDEN:
            parts.append(f"\n{category.value}:\n\n")
            parts.extend(_entry(option) for option in sorted(options, key=lambda option: option.name))
    return "".join(parts)


def _entry(option: Option) -> str:
    text = option.help
    if option.default:
        text += f" (default: {option.default})"
    if option.effect is Effect.LATER:
        text += " [no effect in this version]"
    lines = textwrap.fill(
        text, _WIDTH, initial_indent=" " * _TEXT_INDENT, subsequent_indent=" " * _TEXT_INDENT, break_on_hyphens=False
    )
    return f"{' ' * _OPTION_INDENT}-{option.name}{option.argument}\n{lines}\n\n"
