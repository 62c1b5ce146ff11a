"""A chain with a snapshot of its own, for nodes that are to load it.

Owns: its blocks, its file and what its tip is. Never: asserting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import snapshot_node
from helpers.anyone import mine, mine_money, send, spend
from helpers.node import Node


@dataclass(frozen=True)
class Source:
    """A chain with a snapshot: `blocks` are its raw blocks by height in hex; `tip` is what gettxoutsetinfo says of it."""

    file: Path
    height: int
    block_hash: str
    coins_hash: str
    tx_count: int
    coins: int
    blocks: Sequence[str]
    tip: dict[str, Any]

    def node(self, folder: Path, *options: str) -> Node:
        """Return a node, not started, that knows the snapshot."""
        node = Node(folder, "-par=1", *options)
        node.program = snapshot_node.program(self.height, self.coins_hash, self.tx_count, self.block_hash)
        return node

    def feed_headers(self, node: Node) -> None:
        """Give the node all headers up to the snapshot's block."""
        for block in self.blocks[1 : self.height + 1]:
            node.rpc("submitheader", block[:160])

    def feed_blocks(self, node: Node, first: int, end: int) -> None:
        """Give the node the blocks from height `first` to below `end`."""
        for block in self.blocks[first:end]:
            node.rpc("submitblock", block)


def make_source(folder: Path) -> Source:
    """Mine a chain with some hundred coins, dump them, and mine on."""
    with Node(folder, "-par=1", "-apiworkers=1") as node:
        for money in mine_money(node, 6):
            send(node, spend([money], outputs=40))
            mine(node)
        dump = node.rpc("dumptxoutset", "coins.dat", "latest")
        mine(node, 5)
        count = node.rpc("getblockcount")
        hashes = [node.rpc("getblockhash", height) for height in range(count + 1)]
        return Source(
            Path(dump["path"]),
            dump["base_height"],
            dump["base_hash"],
            dump["txoutset_hash"],
            dump["nchaintx"],
            dump["coins_written"],
            [node.rpc("getblock", block_hash, 0) for block_hash in hashes],
            _facts(node),
        )


def _facts(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = node.rpc("gettxoutsetinfo")
    return {name: found[name] for name in ("height", "bestblock", "txouts", "hash_serialized_3")}


def facts(node: Node) -> dict[str, Any]:
    """Return what the node says of its coins, in the form of `Source.tip`."""
    return _facts(node)
