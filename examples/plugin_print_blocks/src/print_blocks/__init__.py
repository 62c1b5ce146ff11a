"""A Clarion plugin that writes every connected and disconnected block as one line."""

import logging
from collections.abc import Iterable
from pathlib import Path

from clarion.node.config import Config
from clarion.node.events.events import BlockConnected, BlockDisconnected
from clarion.node.options.option import Category, Kind, Option
from clarion.node.primitives.ids import hash_to_hex
from clarion.plugins import hookimpl

_log = logging.getLogger("clarion.plugins.print_blocks")

_OPTION = Option("printblocks", Kind.PATH, Category.CLARION, "Write connected blocks to <file>", argument="=<file>")


class PrintBlocks:
    """The plugin. The node makes one in each process that loads plugins; blocks arrive in the events process only."""

    def __init__(self) -> None:
        self._file: Path | None = None

    @hookimpl
    def register_options(self) -> Iterable[Option]:
        """Add -printblocks to the command line and bitcoin.conf."""
        return [_OPTION]

    @hookimpl
    def configure(self, config: Config) -> None:
        """Read the configuration."""
        name = config.get("printblocks")
        self._file = config.datadir / name if name else None

    @hookimpl
    def block_connected(self, event: BlockConnected) -> None:
        """Write the block's height, hash, number of transactions and the sum of its outputs."""
        paid_sat = sum(output.value for tx in event.block.txs for output in tx.outputs)
        coins = f"{paid_sat // 10**8}.{paid_sat % 10**8:08}"
        self._write(f"+ {event.height} {hash_to_hex(event.block_hash)} {len(event.block.txs)} transactions, {coins} BTC")

    @hookimpl
    def block_disconnected(self, event: BlockDisconnected) -> None:
        """Write that the block is gone."""
        self._write(f"- {event.height} {hash_to_hex(event.block_hash)}")

    def _write(self, line: str) -> None:
        if self._file is None:
            _log.info("%s", line)
            return
        # Opened for each line: a plugin must not hold anything that a restart of the events process would lose.
        with self._file.open("a") as file:
            print(line, file=file)
