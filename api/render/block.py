"""Headers and blocks as JSON.

Owns: the members of `getblockheader`, `getblock` and REST's blocks. Never: finding the block or its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from clarion.api.render.numbers import number_json
from clarion.api.render.transaction import transaction_json
from clarion.node.consensus.pow import decode_compact, difficulty
from clarion.node.primitives.address import AddressFormat, AddressPrefixes
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.primitives.transaction import WITNESS_SCALE_FACTOR, Transaction


@dataclass(frozen=True, slots=True)
class HeaderPlace:
    """A header with what only the chain knows of it, all from one snapshot.

    `confirmations` is -1 off the active chain; `tx_count` is 0 while the block is unknown; `next_hash` is the active
    chain's next block.
    """

    header: BlockHeader
    height: int
    confirmations: int
    median_time_past: int
    chainwork: int
    tx_count: int
    next_hash: BlockHash | None = None


def header_json(place: HeaderPlace) -> dict[str, Any]:
    """Return a header as `getblockheader` and REST's headers show it; only orjson can encode the result."""
    header = place.header
    out: dict[str, Any] = {
        "hash": hash_to_hex(header.hash),
        "confirmations": place.confirmations,
        "height": place.height,
        "version": header.version,
        "versionHex": f"{header.version & 0xFFFFFFFF:08x}",
        "merkleroot": hash_to_hex(header.merkle_root),
        "time": header.time,
        "mediantime": place.median_time_past,
        "nonce": header.nonce,
        "bits": f"{header.bits:08x}",
        "target": f"{decode_compact(header.bits)[0]:064x}",
        "difficulty": number_json(difficulty(header.bits)),
        "chainwork": f"{place.chainwork:064x}",
        "nTx": place.tx_count,
    }
    if place.height > 0:
        out["previousblockhash"] = hash_to_hex(header.prev_hash)
    if place.next_hash is not None:
        out["nextblockhash"] = hash_to_hex(place.next_hash)
    return out


def coinbase_json(coinbase: Transaction) -> dict[str, Any]:
    """Return what `coinbase_tx` shows of a block's first transaction."""
    txin = coinbase.inputs[0]
    out: dict[str, Any] = {
        "version": coinbase.version,
        "locktime": coinbase.lock_time,
        "sequence": txin.sequence,
        "coinbase": txin.script_sig.hex(),
    }
    if txin.witness:
        out["witness"] = txin.witness[0].hex()
    return out


def block_summary(base_size: int, size: int, coinbase: Transaction) -> dict[str, Any]:
    """Return what `getblock` shows between the header and the transactions; sizes without and with witnesses."""
    return {
        "strippedsize": base_size,
        "size": size,
        "weight": base_size * (WITNESS_SCALE_FACTOR - 1) + size,
        "coinbase_tx": coinbase_json(coinbase),
    }


def block_bytes(place: HeaderPlace, contents: bytes) -> bytes:
    """Return a block as JSON: its header, which tells of its place, and its contents as `block_contents` has them."""
    return b"%b,%b" % (orjson.dumps(header_json(place))[:-1], contents[1:])


def block_contents(
    block: Block, network: AddressFormat, verbosity: int, undo: Sequence[Sequence[Coin]] | None = None
) -> dict[str, Any]:
    """Return what `getblock` shows behind the header at verbosity 1 (txids), 2 (transactions) or 3 (their prevouts too).

    `undo[i]` are the coins that transaction i + 1 spends; without it no fee and no prevout is shown. REST's `block`
    is verbosity 3, `block/notxdetails` is 1. Only orjson can encode the result. It never changes.
    """
    out = block_summary(block.base_size, len(block.raw), block.txs[0])
    if verbosity <= 1:
        out["tx"] = [hash_to_hex(tx.txid) for tx in block.txs]
        return out
    prefixes = AddressPrefixes.of(network)
    out["tx"] = [
        transaction_json(
            tx,
            prefixes,
            spent=undo[index - 1] if undo is not None and index else None,
            prevouts=verbosity >= 3,
        )
        for index, tx in enumerate(block.txs)
    ]
    return out
