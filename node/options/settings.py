"""Values of options from all sources, merged as the reference merges them.

Owns: precedence, negation and sections. Never: reading sources, the meaning of values.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

Value = str | bool
"""What a source gave: text, False for `-noname`, True for the double negative `-noname=0`."""

Values = dict[str, list[Value]]


@dataclass(slots=True)
class Settings:
    """Sources in falling precedence: forced, command line, environment, a file's section, its default section."""

    network_only: frozenset[str]
    sensitive: frozenset[str] = frozenset()
    """Names of options whose values are never shown."""
    forced: Values = field(default_factory=dict)
    command_line: Values = field(default_factory=dict)
    environment: Values = field(default_factory=dict)
    file: dict[str, Values] = field(default_factory=dict)
    """By section; the default section is the empty string."""
    chain: str = ""
    """Section that counts; empty until the chain is known."""

    def get(self, name: str) -> Value | None:
        """Return the one value that counts: the last of a command line, but the first of a file."""
        ignore_default = self.chain not in ("", "main") and name in self.network_only
        for values, from_file, is_default in self._sources(name):
            negated_last = values[-1] is False
            if ignore_default and is_default and not negated_last:
                continue
            if negated_last:
                return False
            return _after_negation(values)[0] if from_file else values[-1]
        return None

    def get_chain_choice(self, name: str) -> Value | None:
        """As `get` for -regtest and its like: from a file the last one counts, a negation counts nowhere."""
        for values, _, _ in self._sources(name, section=""):
            if values[-1] is not False:
                return values[-1]
        return None

    def get_all(self, name: str) -> list[Value]:
        """Return the values of all sources, the strongest first; a negation drops what is weaker or earlier."""
        ignore_default = self.chain not in ("", "main") and name in self.network_only
        result: list[Value] = []
        done = False
        dropped_all = False
        for values, from_file, is_default in self._sources(name):
            if ignore_default and is_default:
                continue
            # As in the reference, a value behind a negation on the command line brings the file's values back.
            if not done or (from_file and not dropped_all):
                result += _after_negation(values)
            done = done or any(value is False for value in values) or values is self.forced.get(name)
            dropped_all = dropped_all or (values[-1] is False and not result)
        return result

    def without(self, names: Iterable[str]) -> "Settings":
        """Return the same without the values of some names."""
        left_out = frozenset(names)

        def kept(values: Values) -> Values:
            return {name: found for name, found in values.items() if name not in left_out}

        return replace(
            self,
            forced=kept(self.forced),
            command_line=kept(self.command_line),
            environment=kept(self.environment),
            file={section: kept(values) for section, values in self.file.items()},
        )

    def only_in_default_section(self, name: str) -> bool:
        """Whether the default section sets `name` and nothing else does."""
        found = [is_default for values, _, is_default in self._sources(name) if values[-1] is not False]
        return bool(found) and all(found)

    def _sources(self, name: str, section: str | None = None) -> Iterable[tuple[list[Value], bool, bool]]:
        chain = self.chain if section is None else section
        plain = [(self.forced, False, False), (self.command_line, False, False), (self.environment, False, False)]
        files = [(self.file.get(chain, {}), True, False)] if chain else []
        files.append((self.file.get("", {}), True, True))
        for source, from_file, is_default in plain + files:
            values = source.get(name)
            if values:
                yield values, from_file, is_default


def _after_negation(values: list[Value]) -> list[Value]:
    """Return the values behind the last negation."""
    for i in range(len(values), 0, -1):
        if values[i - 1] is False:
            return values[i:]
    return values
