"""Brings all sources together: which files are read, which chain's section counts, what is refused.

Owns: the order of these steps and the checks on the whole. Never: the typed configuration (node.config).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.options.chain_choice import CHAINS, choose_chain
from clarion.node.options.option import Effect, Kind, Option
from clarion.node.options.settings import Settings, Value
from clarion.node.options.sources import Reading, read_command_line, read_environment, read_files
from clarion.node.options.table import OptionTable
from clarion.node.options.values import read_amount, read_flag, read_number, read_text

CONF_NAME = "bitcoin.conf"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything that was read. `warnings` go to standard error too, `notes` to the log only."""

    table: OptionTable
    settings: Settings
    chain: str
    datadir: Path
    conf_path: Path | None
    arguments: list[str]
    warnings: list[str]
    notes: list[str]


def default_datadir() -> Path:
    """Return the data directory that counts without -datadir."""
    return Path(os.environ.get("HOME") or "/") / ".clarion"


def read_start(argv: Sequence[str], environ: Mapping[str, str], extra: Iterable[Option] = ()) -> Loaded:
    """Read command line and environment only, for -help and -version. Raises ConfigError."""
    table = OptionTable(extra)
    settings = Settings(table.network_only, table.sensitive)
    reading = Reading()
    read_command_line(argv, table, settings, reading)
    read_environment(environ, table, settings, reading)
    return Loaded(table, settings, "main", default_datadir(), None, reading.arguments, [], reading.notes)


def load_settings(argv: Sequence[str], environ: Mapping[str, str], extra: Iterable[Option] = ()) -> Loaded:
    """Read all sources and check them as a whole. Raises ConfigError."""
    start = read_start(argv, environ, extra)
    table, settings = start.table, start.settings
    reading = Reading(start.arguments, [], start.notes)
    first_datadir = _datadir(settings, 'Specified data directory "{}" does not exist.')
    conf_path = _conf_path(settings, first_datadir)
    read_files(conf_path, first_datadir, _chain_or_none, table, settings, reading)
    settings.chain = chain = choose_chain(settings)
    datadir = _datadir(settings, 'Error reading configuration file: specified data directory "{}" does not exist.')
    reading.notes += _check_ignored_conf(settings, datadir, first_datadir, conf_path)
    _check_network_only(table, settings)
    _check_values(table, settings)
    reading.notes += _effect_notes(table, settings)
    return Loaded(
        table, settings, chain, datadir, conf_path, reading.arguments, _section_warnings(reading), reading.notes
    )


def absolute(path: str, base: Path) -> Path:
    """Return `path`, which starts at `base` if it is relative."""
    return Path(os.path.normpath(base / path))


def _datadir(settings: Settings, missing: str) -> Path:
    value = settings.get("datadir")
    if value is None or value == "":
        return default_datadir()
    text = read_text(value)
    path = Path(os.path.abspath(text))
    if not path.is_dir():
        raise ConfigError(missing.format(text))
    return path


def _conf_path(settings: Settings, datadir: Path) -> Path | None:
    value = settings.get("conf")
    if value is False:
        return None
    path = absolute(read_text(value) if value is not None and value != "" else CONF_NAME, datadir)
    if value is not None and not path.is_dir() and not os.access(path, os.R_OK):
        raise ConfigError(f'Error reading configuration file: specified config file "{path}" could not be opened.')
    return path


def _chain_or_none(settings: Settings) -> str:
    # What is known when the first file has been read: the section whose includeconf counts.
    try:
        return choose_chain(settings)
    except ConfigError:
        return ""


def _check_ignored_conf(settings: Settings, datadir: Path, first_datadir: Path, conf_path: Path | None) -> list[str]:
    """Refuse a bitcoin.conf in the data directory that nobody reads: its owner would think that it counts."""
    base_conf = datadir / CONF_NAME
    if not base_conf.exists():
        return []
    if conf_path is None:
        return [f'Data directory "{datadir}" contains a "{CONF_NAME}" file which is explicitly ignored using -noconf.']
    if conf_path.exists() and conf_path.samefile(base_conf):
        return []
    value = settings.get("conf")
    source = f'command line argument "-conf={value}"' if value else f'data directory "{first_datadir}"'
    text = (
        f'Data directory "{datadir}" contains a "{CONF_NAME}" file which is ignored, because a different configuration '
        f'file "{conf_path}" from {source} is being used instead. Possible ways to address this would be to:\n'
        f'- Delete or rename the "{CONF_NAME}" file in data directory "{datadir}".\n'
        "- Change datadir= or conf= options to specify one configuration file, not two, and use includeconf= to "
        "include any other configuration files."
    )
    allowed = settings.get("allowignoredconf")
    if allowed is not None and read_flag("allowignoredconf", allowed):
        return [text]
    raise ConfigError(text + "\n- Set allowignoredconf=1 option to treat this condition as a warning, not an error.")


def _check_network_only(table: OptionTable, settings: Settings) -> None:
    if settings.chain == "main":
        return
    wrong = [name for name in sorted(table.network_only) if settings.only_in_default_section(name)]
    if wrong:
        raise ConfigError(
            "\n".join(
                f"Config setting for -{name} only applied on {settings.chain} network when in [{settings.chain}] section."
                for name in wrong
            )
        )


def _check_values(table: OptionTable, settings: Settings) -> None:
    """Read every value that was given once, so that a wrong one is told even where it has no effect yet."""
    for option in table:
        if option.effect is Effect.INERT:
            continue
        for value in settings.get_all(option.name):
            _check_value(option, value)


def _check_value(option: Option, value: Value) -> None:
    if option.kind is Kind.FLAG:
        read_flag(option.name, value)
    elif option.kind is Kind.NUMBER and value != "":
        read_number(option.name, value)
    elif option.kind is Kind.AMOUNT:
        read_amount(option.name, value)


def _effect_notes(table: OptionTable, settings: Settings) -> list[str]:
    """Say in one line each which given options do nothing at all, and which do nothing yet."""
    notes = []
    for effect, text in (
        (Effect.INERT, "These options mean nothing here and are ignored"),
        (Effect.LATER, "These options have no effect in this version"),
    ):
        names = [
            f"-{option.name}"
            for option in table
            if option.effect is effect and settings.get(option.name) not in (None, False)
        ]
        if names:
            notes.append(f"{text}: {' '.join(names)}")
    return notes


def _section_warnings(reading: Reading) -> list[str]:
    return [
        f"{file}:{line} Section [{name}] is not recognized."
        for name, file, line in reading.sections
        if name not in CHAINS
    ]
