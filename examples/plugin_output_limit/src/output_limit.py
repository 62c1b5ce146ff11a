"""Keeps transactions with many outputs out of the mempool: a rule of the operator's own."""

from collections.abc import Iterable

from clarion.node.config import Config
from clarion.node.errors import ConfigError
from clarion.node.mempool.accept.operator_policy import TransactionView
from clarion.node.options.option import Category, Kind, Option
from clarion.plugins import hookimpl


class OutputLimit:
    """The plugin. Blocks are not its business: what a block holds is not asked about."""

    clarion_hook_api = "1.0"

    def __init__(self) -> None:
        self._most = 0

    @hookimpl
    def register_options(self) -> Iterable[Option]:
        """Add -maxoutputs to the command line and bitcoin.conf."""
        text = "Refuse transactions with more outputs than <n>, 0 for none (default: 0)"
        return [Option("maxoutputs", Kind.TEXT, Category.CLARION, text, argument="=<n>")]

    @hookimpl
    def configure(self, config: Config) -> None:
        """Read the limit. Raises ConfigError, which ends the start with its text."""
        limit = config.get("maxoutputs") or "0"
        if not (limit.isascii() and limit.isdigit()):
            raise ConfigError(f"-maxoutputs={limit}: a number expected")
        self._most = int(limit)

    @hookimpl
    def accept_transaction(self, view: TransactionView) -> str | None:
        """Return why the transaction may not come in, None if it may."""
        count = len(view.tx.outputs)
        return f"{count} outputs" if self._most and count > self._most else None
