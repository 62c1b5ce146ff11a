"""The recorded conversation with the reference, read without a node.

Owns: its steps, and the tree of the blocks that it submits. Never: playing it (see ../shared/tools/play_tape.py).
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clarion.api.render.block import HeaderPlace
from clarion.node.consensus.pow import block_proof
from clarion.node.errors import DecodeError
from clarion.node.params.networks import regtest_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, hash_from_hex, make_outpoint


def read_tape(path: Path) -> list[dict[str, Any]]:
    """Return the steps behind the tape's header line."""
    with gzip.open(path, "rt") as lines:
        next(lines)
        return [json.loads(line) for line in lines]


def rpc_steps(steps: list[dict[str, Any]], method: str) -> Iterator[tuple[list[Any], str]]:
    """Yield (parameters, body) of each successful call of one RPC method."""
    for step in steps:
        if "rpc" in step and step["rpc"][0] == method and step["status"] == 200:
            body = step["body"]
            if '"error":null' in body:
                yield step["rpc"][1], body


def rest_steps(steps: list[dict[str, Any]], start: str, end: str) -> Iterator[tuple[str, str]]:
    """Yield (path, body) of each successful REST request whose path starts and ends so."""
    for step in steps:
        path = step.get("rest", "")
        if path.startswith(start) and path.endswith(end) and step["status"] == 200 and "body" in step:
            yield path, step["body"]


class BlockTree:
    """Genesis and the submitted blocks, by hash, with what the reference derives from their ancestors."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        genesis = regtest_params().genesis
        self.blocks: dict[bytes, Block] = {genesis.hash: genesis}
        for params, _ in rpc_steps(steps, "submitblock"):
            try:
                block = Block.parse(bytes.fromhex(params[0]))
            except (DecodeError, ValueError):
                continue
            self.blocks.setdefault(block.hash, block)

    def ancestors(self, block_hash: bytes) -> list[Block]:
        """Return the chain from the block down to genesis; it is cut off where an ancestor is unknown."""
        chain = []
        block = self.blocks.get(block_hash)
        while block is not None:
            chain.append(block)
            block = self.blocks.get(block.header.prev_hash)
        return chain

    def place(self, answer: Mapping[str, Any]) -> HeaderPlace:
        """Return the place of the answer's block; only confirmations and next hash are taken from the answer."""
        chain = self.ancestors(hash_from_hex(answer["hash"]))
        times = sorted(block.header.time for block in chain[:11])
        return HeaderPlace(
            chain[0].header,
            height=len(chain) - 1,
            confirmations=answer["confirmations"],
            median_time_past=times[len(times) // 2],
            chainwork=sum(block_proof(block.header.bits) for block in chain),
            tx_count=len(chain[0].txs),
            next_hash=BlockHash(hash_from_hex(answer["nextblockhash"])) if "nextblockhash" in answer else None,
        )

    def undo(self, block_hash: bytes) -> list[list[Coin]]:
        """Return the coins that each transaction but the first spends."""
        chain = self.ancestors(block_hash)
        coins: dict[OutPoint, Coin] = {}
        for height, block in enumerate(reversed(chain)):
            for position, tx in enumerate(block.txs):
                for index, txout in enumerate(tx.outputs):
                    code = height * 2 + (position == 0)
                    coins[make_outpoint(tx.txid, index)] = Coin(txout.value, txout.script_pubkey, code)
        return [[coins[txin.prevout] for txin in tx.inputs] for tx in chain[0].txs[1:]]
