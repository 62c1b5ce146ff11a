"""Writes a line for every payment to an address: when it enters the mempool, when it leaves, when it is in a block."""

from collections.abc import Iterable
from pathlib import Path

from clarion.node.config import Config, params_of
from clarion.node.events.events import BlockConnected, BlockDisconnected, TxAdded, TxRemoved
from clarion.node.options.option import Category, Kind, Option
from clarion.node.primitives.address import decode_address
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.transaction import Transaction
from clarion.plugins import hookimpl


class Payments:
    """The plugin. Events arrive in the events process only, one after the other, on a thread of its own."""

    clarion_hook_api = "1.0"

    def __init__(self) -> None:
        self._script: bytes | None = None
        self._file = Path()
        self._unconfirmed: set[Txid] = set()

    @hookimpl
    def register_options(self) -> Iterable[Option]:
        """Add -payaddress and -payfile to the command line and bitcoin.conf."""
        return [
            Option("payaddress", Kind.TEXT, Category.CLARION, "Tell of payments to <address>", argument="=<address>"),
            Option("payfile", Kind.PATH, Category.CLARION, "Write them there", argument="=<file>"),
        ]

    @hookimpl
    def configure(self, config: Config) -> None:
        """Read the configuration. A wrong address ends the start."""
        address = config.get("payaddress")
        self._script = decode_address(address, params_of(config)) if address else None
        self._file = config.datadir / (config.get("payfile") or "payments.txt")

    @hookimpl
    def tx_added(self, event: TxAdded) -> None:
        """A payment is on its way."""
        if paid := self._paid(event.tx):
            self._unconfirmed.add(event.tx.txid)
            self._write(f"{event.id} seen {hash_to_hex(event.tx.txid)} {paid} sat, fee {event.fee_sat} sat")

    @hookimpl
    def tx_removed(self, event: TxRemoved) -> None:
        """A payment left the mempool; `block` is told with the block."""
        if event.txid in self._unconfirmed:
            self._unconfirmed.discard(event.txid)
            if event.reason != "block":
                self._write(f"{event.id} gone {hash_to_hex(event.txid)} {event.reason}")

    @hookimpl
    def block_connected(self, event: BlockConnected) -> None:
        """Payments are in a block."""
        self._tell_block(event, "paid")

    @hookimpl
    def block_disconnected(self, event: BlockDisconnected) -> None:
        """They are not any more."""
        self._tell_block(event, "unpaid")

    def _tell_block(self, event: BlockConnected | BlockDisconnected, word: str) -> None:
        for tx in event.block.txs:
            if paid := self._paid(tx):
                self._write(f"{event.id} {word} {hash_to_hex(tx.txid)} {paid} sat, height {event.height}")

    def _paid(self, tx: Transaction) -> int:
        return sum(output.value for output in tx.outputs if output.script_pubkey == self._script)

    def _write(self, line: str) -> None:
        with self._file.open("a") as file:
            print(line, file=file)
