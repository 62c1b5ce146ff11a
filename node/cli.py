"""The `clarion` command.

Owns: the command line's first look, and how errors are told. Never: anything heavy at module level: worker processes
import this module again.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clarion.node.config import Config
    from clarion.node.options.option import Option

EXIT_OK = 0
EXIT_FAILURE = 1
COMMANDS = ("import", "db", "events", "api")
DB_USAGE = "clarion db needs one of: check, dump FILE, restore FILE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `clarion` with `argv` (without the program's name) and return its exit status."""
    if argv is None:
        # Until the node handles it, Ctrl-C ends the program as it ends any other: without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # As in the reference, what is written is for its owner alone, unless an option says otherwise.
        os.umask(0o077)
    from clarion.node.errors import ClarionError, RebuildNeeded

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except RebuildNeeded as error:
        print(error, file=sys.stderr, flush=True)
        return EXIT_FAILURE
    except ClarionError as error:
        print_error(str(error))
        return EXIT_FAILURE
    except BrokenPipeError:
        # Whoever read our output went away (`clarion -help | head`).
        return EXIT_FAILURE


def print_error(text: str) -> None:
    """Tell an error in one line on standard error, as the reference does."""
    print(f"Error: {text}", file=sys.stderr, flush=True)


def script() -> NoReturn:
    """Entry point for `python -m clarion.node.cli`."""
    sys.exit(main())


def _run(arguments: list[str]) -> int:
    from clarion import __version__
    from clarion.node.options.help_text import help_text
    from clarion.node.options.load import read_start
    from clarion.plugins.options import plugin_options

    command, arguments = _take_command(arguments)
    extra = plugin_options(arguments)
    start = read_start(arguments, {}, extra)
    given = start.settings.command_line
    if "version" in given:
        print(f"Clarion version {__version__}")
        return EXIT_OK
    if "help" in given or "help-debug" in given:
        print(help_text(start.table, __version__, debug="help-debug" in given), end="")
        return EXIT_OK
    commands = {"import": _import, "db": _db, "events": _events, "api": _api}
    return commands.get(command, _node)(arguments, extra)


def _take_command(arguments: list[str]) -> tuple[str, list[str]]:
    """Return (a command or nothing, the other arguments): options may stand in front of the command and behind it."""
    for i, argument in enumerate(arguments):
        if not argument.startswith("-"):
            return (argument, arguments[:i] + arguments[i + 1 :]) if argument in COMMANDS else ("", arguments)
    return "", arguments


def _node(arguments: list[str], extra: "list[Option]") -> int:
    from clarion.node.config import load_config

    return _serve(load_config(arguments, extra_options=extra), _run_node)


def _api(arguments: list[str], extra: "list[Option]") -> int:
    import dataclasses

    from clarion.node.config import load_config

    config = load_config(arguments, extra_options=extra)
    # The node itself may use the same data directory: its cookie and its log stay its own.
    if config.get("rpccookiefile") is None:
        config = dataclasses.replace(config, rpc_cookie_file=config.chain_dir / ".api.cookie")
    if config.get("debuglogfile") is None:
        config = dataclasses.replace(config, debug_log_file=config.chain_dir / "api.log")
    return _serve(config, _run_api_reader)


def _serve(config: "Config", run: "Callable[[Config, Callable[[], None]], int]") -> int:
    """Run what serves until it is stopped, in the foreground or behind the terminal's back."""
    from clarion.node.errors import ConfigError

    if config.arguments:
        raise ConfigError(
            f"Command line contains unexpected token '{config.arguments[0]}', see clarion -help for a list of options."
        )
    _tell_warnings(config)
    if not config.daemon:
        return run(config, lambda: None)
    from clarion.node.daemon import detach

    on_ready = detach(str(config.debug_log_file or "the log"), wait=config.daemon_wait)
    return EXIT_OK if on_ready is None else run(config, on_ready)


def _run_node(config: "Config", on_ready: "Callable[[], None]") -> int:
    from contextlib import closing

    from clarion.api.idle_worker import IdleWorkers

    with closing(IdleWorkers(config.api_workers if config.server else 0)) as idle:
        # Imported behind the fork of -daemon, since the program's libraries may start threads; and beside the workers.
        from clarion.node.app import run_node

        return run_node(config, idle, on_ready)


def _run_api_reader(config: "Config", on_ready: "Callable[[], None]") -> int:
    from contextlib import closing

    from clarion.api.idle_worker import IdleWorkers

    with closing(IdleWorkers(config.api_workers)) as idle:
        from clarion.node.app.api_reader import run_api_reader

        return run_api_reader(config, idle, on_ready)


def _import(arguments: list[str], extra: "list[Option]") -> int:
    from clarion.node.errors import ConfigError

    config, words = _command_config(arguments, extra)
    files = _paths(words)
    if not files:
        raise ConfigError("clarion import needs at least one file, see clarion -help")
    missing = next((path for path in files if not path.exists()), None)
    if missing is not None:
        raise ConfigError(f"{missing}: no such file")
    _tell_warnings(config)
    from clarion.node.app import run_import

    return run_import(config, files)


def _db(arguments: list[str], extra: "list[Option]") -> int:
    from clarion.node.errors import ConfigError

    config, words = _command_config(arguments, extra)
    action, files = words[:1], _paths(words[1:])
    if len(files) != {"check": 0, "dump": 1, "restore": 1}.get("".join(action)):
        raise ConfigError(DB_USAGE)
    _tell_warnings(config)
    from clarion.node.app import run_db

    return run_db(config, action[0], files)


def _events(arguments: list[str], extra: "list[Option]") -> int:
    config, words = _command_config(arguments, extra)
    from clarion.node.app.events import run_events

    return run_events(config, words)


def _paths(words: "list[str]") -> "list[Path]":
    import os
    from pathlib import Path

    return [Path(os.path.abspath(word)) for word in words]


def _command_config(arguments: list[str], extra: "list[Option]") -> "tuple[Config, list[str]]":
    """Return the configuration and the words behind a command; options may follow them."""
    import dataclasses

    from clarion.node.config import load_config

    options = [argument for argument in arguments if argument.startswith("-")]
    words = [argument for argument in arguments if not argument.startswith("-")]
    config = load_config(options, extra_options=extra)
    if config.get("printtoconsole") is None:
        # The progress is what the terminal is for.
        config = dataclasses.replace(config, print_to_console=False)
    return config, words


def _tell_warnings(config: "Config") -> None:
    for text in config.warnings:
        print(f"Warning: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    script()
