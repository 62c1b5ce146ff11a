"""The event log of a node under test, read from its database beside the running node.

Owns: opening and closing the reader. Never: writing.
"""

import contextlib

from clarion.node.events.row import EventRow
from clarion.node.params.chain_params import select_params
from clarion.node.storage.chain_reader import ChainReader
from helpers.node import Node
from helpers.node_database import database_url

_ALL = 1_000_000


def stored_rows(node: Node, after: int = 0) -> list[EventRow]:
    """Return the rows that are durable, behind number `after`."""
    reader = ChainReader(database_url(node.datadir, node.chain), node.chain_dir, select_params(node.chain))
    with contextlib.closing(reader):
        return reader.events.read(after, _ALL)
