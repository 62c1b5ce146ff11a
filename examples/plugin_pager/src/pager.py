"""Sends one line for every connected block to a TCP server: a notifier, told each row of the event log in order."""

import socket
from collections.abc import Iterable, Mapping, Sequence

from clarion.node.config import Config
from clarion.node.errors import ConfigError
from clarion.node.events.row import EventKind
from clarion.node.options.option import Category, Kind, Option
from clarion.node.primitives.ids import hash_to_hex
from clarion.notifiers.notifier import LoggedEvent
from clarion.plugins import hookimpl

clarion_hook_api = "1.0"


class Pager:
    """The notifier. It connects in `tell`, so that a server that is away stops nothing: the row is told again later."""

    name = "pager"
    awaited = False

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Do nothing: what is raised here would end the node's start."""

    def tell(self, event: LoggedEvent) -> None:
        """Send the block's hash, and its number of transactions."""
        if event.row.kind is not EventKind.BLOCK_CONNECTED:
            return
        line = f"{event.row.height} {hash_to_hex(event.row.block_hash)} {len(event.block().txs)}\n"
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=10)
            self._socket.sendall(line.encode())
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def describe(self) -> Sequence[Mapping[str, object]]:
        """Return where it sends, for `listlanes`."""
        return [{"type": "pager", "address": "%s:%d" % self._address}]


@hookimpl
def register_options() -> Iterable[Option]:
    """Add -pager to the command line and bitcoin.conf."""
    return [Option("pager", Kind.TEXT, Category.CLARION, "Send a line for each block there", argument="=<host:port>")]


@hookimpl
def register_notifiers(config: Config) -> Iterable[Pager]:
    """Return the notifier, if one is asked for."""
    address = config.get("pager")
    if not address:
        return []
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"-pager={address}: <host>:<port> expected")
    return [Pager(host, int(port))]
