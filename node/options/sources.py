"""Reads options from the command line, the environment and bitcoin.conf.

Owns: their syntax. Never: precedence, the meaning of values.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clarion.node.errors import ConfigError
from clarion.node.options.option import Option
from clarion.node.options.settings import Settings, Value
from clarion.node.options.table import OptionTable
from clarion.node.options.values import read_flag

ENVIRONMENT_PREFIX = "CLARION_"


@dataclass(slots=True)
class Reading:
    """What was read besides values: `arguments` without dash, `sections` as (name, file, line), `notes` for the log."""

    arguments: list[str] = field(default_factory=list)
    sections: list[tuple[str, str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_command_line(argv: Sequence[str], table: OptionTable, settings: Settings, reading: Reading) -> None:
    """Put the options of `argv` (without the program's name) into `settings`. Raises ConfigError."""
    prefix = "Error parsing command line arguments: "
    for i, argument in enumerate(argv):
        if not argument.startswith("-") or argument == "-":
            reading.arguments.extend(argv[i:])
            break
        key, has_value, text = argument.partition("=")
        key = key[2:] if key.startswith("--") else key[1:]
        option, negated = table.interpret(key)
        if option is None:
            raise ConfigError(f"{prefix}Invalid parameter {argument}: unknown option{table.suggestion(key)}")
        value = _interpret(option, negated, text if has_value else None, reading, prefix)
        settings.command_line.setdefault(option.name, []).append(value)
    includes = [value for value in settings.command_line.get("includeconf", []) if value is not False]
    if includes:
        shown = "true" if includes[0] is True else f'"{includes[0]}"'
        raise ConfigError(f"{prefix}-includeconf cannot be used from commandline; -includeconf={shown}")


def read_environment(environ: Mapping[str, str], table: OptionTable, settings: Settings, reading: Reading) -> None:
    """Put `CLARION_<NAME>` variables into `settings`; an option that may come often takes values split at blanks."""
    for variable in sorted(environ):
        if not variable.startswith(ENVIRONMENT_PREFIX):
            continue
        key = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        option, negated = table.interpret(key)
        if option is None:
            option, negated = table.interpret(key.replace("_", "-"))
        if option is None:
            reading.notes.append(f"Ignoring environment variable {variable}: no such option")
            continue
        text = environ[variable]
        for part in text.split() if option.multiple and not negated and text.strip() else [text]:
            value = _interpret(option, negated, part, reading, f"Error reading {variable}: ")
            settings.environment.setdefault(option.name, []).append(value)


def read_files(
    path: Path | None,
    base: Path,
    chain_of: Callable[[Settings], str],
    table: OptionTable,
    settings: Settings,
    reading: Reading,
) -> None:
    """Put bitcoin.conf at `path` and what it includes into `settings`; relative includes start at `base`.

    A file that does not exist is fine. `chain_of` tells, once that file is read, the section whose includeconf counts
    beside the default one's.
    """
    prefix = "Error reading configuration file: "
    if path is not None and path.is_dir():
        raise ConfigError(f'{prefix}Config file "{path}" is a directory.')
    if path is None or not path.exists():
        return
    _read_file(path, str(path), table, settings, reading)
    if "includeconf" in settings.command_line:
        return
    chain = chain_of(settings)
    for name in _includes(settings, chain):
        included = base / name
        if included.is_dir():
            raise ConfigError(f'{prefix}Included config file "{included}" is a directory.')
        if not included.is_file() or not os.access(included, os.R_OK):
            raise ConfigError(f"{prefix}Failed to include configuration file {name}")
        before = _includes(settings, chain)
        _read_file(included, name, table, settings, reading)
        reading.notes.append(f"Included configuration file {name}")
        for ignored in _includes(settings, chain)[len(before) :]:
            reading.notes.append(f"-includeconf cannot be used from included files; ignoring -includeconf={ignored}")


def _includes(settings: Settings, chain: str) -> list[str]:
    sections = [settings.file.get(chain, {}), settings.file.get("", {})] if chain else [settings.file.get("", {})]
    values = [value for section in sections for value in section.get("includeconf", [])]
    return [value for value in values if isinstance(value, str)]


def _read_file(path: Path, name: str, table: OptionTable, settings: Settings, reading: Reading) -> None:
    prefix = "Error reading configuration file: "
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f'{prefix}"{path}" could not be read: {error}') from None
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped, hash_sign, _ = line.partition("#")
        stripped = stripped.strip()
        if not stripped:
            continue
        if stripped.startswith("[") and stripped.endswith("]"):
            section = stripped[1:-1]
            reading.sections.append((section, name, number))
            continue
        key, value = _split_line(stripped, number, bool(hash_sign), prefix)
        where, dot, bare = key.rpartition(".")
        if dot:
            reading.sections.append((where, name, number))
        _set_from_file(bare, where or section, value, table, settings, reading)


def _split_line(line: str, number: int, has_comment: bool, prefix: str) -> tuple[str, str]:
    if line.startswith("-"):
        raise ConfigError(
            f"{prefix}parse error on line {number}: {line}, options in configuration file must be specified without "
            "leading -"
        )
    key, equals, value = line.partition("=")
    if not equals:
        hint = f", if you intended to specify a negated option, use {line}=1 instead" if line.startswith("no") else ""
        raise ConfigError(f"{prefix}parse error on line {number}: {line}{hint}")
    if has_comment and "rpcpassword" in key:
        raise ConfigError(
            f"{prefix}parse error on line {number}, using # in rpcpassword can be ambiguous and should be avoided"
        )
    return key.strip(), value.strip()


def _set_from_file(key: str, section: str, text: str, table: OptionTable, settings: Settings, reading: Reading) -> None:
    prefix = "Error reading configuration file: "
    option, negated = table.interpret(key)
    if option is None:
        raise ConfigError(f"{prefix}Invalid configuration value {key}: unknown option{table.suggestion(key)}")
    if option.name == "conf":
        raise ConfigError(
            f"{prefix}conf cannot be set in the configuration file; use includeconf= if you want to include additional "
            "config files"
        )
    value = _interpret(option, negated, text, reading, prefix)
    settings.file.setdefault(section, {}).setdefault(option.name, []).append(value)


def _interpret(option: Option, negated: bool, text: str | None, reading: Reading, prefix: str) -> Value:
    if negated:
        if not option.negatable:
            raise ConfigError(f"{prefix}Negating of -{option.name} is meaningless and therefore forbidden")
        if text is not None and not read_flag(f"no{option.name}", text):
            reading.notes.append(f"Parsed potentially confusing double-negative -{option.name}={text}")
            return True
        return False
    if text is None and option.needs_value:
        raise ConfigError(
            f"{prefix}Can not set -{option.name} with no value. Please specify value with -{option.name}=value."
        )
    return text or ""
