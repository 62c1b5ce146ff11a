"""The whole table of options and how names are found in it.

Owns: looking up and suggesting names. Never: values.
"""

import difflib
from collections.abc import Iterable, Iterator

from clarion.node.options.inert_options import INERT_OPTIONS
from clarion.node.options.network_options import NETWORK_OPTIONS
from clarion.node.options.node_options import NODE_OPTIONS
from clarion.node.options.option import Effect, Option
from clarion.node.options.service_options import SERVICE_OPTIONS

_ALIASES = {"h": "help", "?": "help"}


class OptionTable:
    """Options by name. `extra` holds what plugins add."""

    def __init__(self, extra: Iterable[Option] = ()) -> None:
        self._options: dict[str, Option] = {}
        for option in [*NODE_OPTIONS, *NETWORK_OPTIONS, *SERVICE_OPTIONS, *INERT_OPTIONS, *extra]:
            assert option.name not in self._options, f"option {option.name} is there twice"
            self._options[option.name] = option

    def __iter__(self) -> Iterator[Option]:
        return iter(self._options.values())

    def find(self, name: str) -> Option | None:
        """Return the option called `name`, without dashes and without a leading `no`."""
        return self._options.get(_ALIASES.get(name, name))

    def interpret(self, key: str) -> tuple[Option | None, bool]:
        """Return (option, whether it is negated) for a key as it was written, without dashes."""
        option = self.find(key)
        if option is None and key.startswith("no"):
            return self.find(key[2:]), True
        return option, False

    def suggestion(self, key: str) -> str:
        """Return ` (did you mean -name?)` for the nearest name, an empty string where none is near."""
        names = [option.name for option in self._options.values() if option.effect is not Effect.INERT]
        bare = key[2:] if key.startswith("no") else key
        near = difflib.get_close_matches(key, names, 1, 0.4) or difflib.get_close_matches(bare, names, 1, 0.4)
        return f" (did you mean -{near[0]}?)" if near else ""

    @property
    def network_only(self) -> frozenset[str]:
        """Names of the options that the default section of a file sets for mainnet only."""
        return frozenset(option.name for option in self._options.values() if option.network_only)

    @property
    def sensitive(self) -> frozenset[str]:
        """Names of the options whose values are never shown."""
        return frozenset(option.name for option in self._options.values() if option.sensitive)
