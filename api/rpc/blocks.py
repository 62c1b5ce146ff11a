"""Blocks and headers of a snapshot, for RPC and REST.

Owns: the look-up with the reference's errors, and where a block stands in the chain. Never: how it is rendered.
"""

from binascii import hexlify
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from clarion.api.render.block import HeaderPlace, block_bytes, block_contents, header_json
from clarion.api.rpc.block_facts import block_facts
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.node.errors import BlockFileError, RpcError
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.block_status import HAVE_DATA, HAVE_UNDO
from clarion.node.storage.chain_reader import MEDIAN_TIME_SPAN, ChainPlace, ChainSnapshot
from clarion.node.storage.rows import BlockRow

_T = TypeVar("_T")


def find_row(snapshot: ChainSnapshot, block_hash: bytes) -> BlockRow:
    """Return the row of a known block. Raises RpcError -5 `Block not found`."""
    row = snapshot.block(block_hash)
    if row is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
    return row


def block_hex(ctx: ReaderContext, row: BlockRow) -> bytes:
    """Return the raw block in hex as JSON. Raises RpcError -1 if it is not stored or its file is gone."""
    check_raw(ctx, row)
    return ctx.rendered.get(("hex", row.hash), lambda: b'"%b"' % hexlify(read_raw(ctx, row)))


def read_raw(ctx: ReaderContext, row: BlockRow) -> bytes:
    """Return the raw block. Raises RpcError -1 if it is not stored or its file is gone."""
    return _on_disk(row, lambda: ctx.reader.read_block(row))


def check_raw(ctx: ReaderContext, row: BlockRow) -> None:
    """Raise RpcError -1 if the block is not stored or its file is gone."""
    _on_disk(row, lambda: ctx.reader.check_block_file(row))


def block_text(ctx: ReaderContext, place: HeaderPlace, row: BlockRow, verbosity: int) -> bytes:
    """Return `block_json`. Raises RpcError -1 if the block is not stored or its file is gone."""
    return _on_disk(row, lambda: block_json(ctx, place, row, verbosity))


def _on_disk(row: BlockRow, read: Callable[[], _T]) -> _T:
    if not row.status & HAVE_DATA:
        raise RpcError(RpcCode.MISC_ERROR, f"Block not available ({missing_reason(row)})")
    try:
        return read()
    except BlockFileError:
        raise RpcError(RpcCode.MISC_ERROR, "Block not found on disk") from None


def missing_reason(row: BlockRow) -> str:
    """Return why a block's data is not stored, as the reference words it."""
    return "pruned data" if row.tx_count else "not fully downloaded"


def place_of(snapshot: ChainSnapshot, row: BlockRow, place: ChainPlace) -> HeaderPlace:
    """Return a header with where it stands, as `snapshot` sees it."""
    return HeaderPlace(
        header=BlockHeader.parse(row.header),
        height=row.height,
        confirmations=place.confirmations,
        median_time_past=snapshot.median_time_past(row),
        chainwork=row.chainwork,
        tx_count=row.tx_count,
        next_hash=place.next_hash,
    )


def find_placed(snapshot: ChainSnapshot, block_hash: bytes) -> tuple[BlockRow, HeaderPlace]:
    """Return a known block with where it stands. Raises RpcError -5 `Block not found`."""
    found = snapshot.placed_block(block_hash)
    if found is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
    row, place = found
    return row, place_of(snapshot, row, place)


def headers_json(snapshot: ChainSnapshot, rows: list[BlockRow]) -> list[dict[str, Any]]:
    """Return consecutive headers of the active chain; the rows around them are read once for all."""
    if not rows:
        return []
    tip_height = snapshot.height()
    following = [row.hash for row in rows[1:]] + [snapshot.hash_at(rows[-1].height + 1)]
    times = [row.time for row in reversed(snapshot.ancestors(rows[0], MEDIAN_TIME_SPAN)[1:])]
    answers = []
    for row, next_hash in zip(rows, following, strict=True):
        times.append(row.time)
        window = sorted(times[-MEDIAN_TIME_SPAN:])
        place = HeaderPlace(
            header=BlockHeader.parse(row.header),
            height=row.height,
            confirmations=tip_height - row.height + 1,
            median_time_past=window[len(window) // 2],
            chainwork=row.chainwork,
            tx_count=row.tx_count,
            next_hash=next_hash,
        )
        answers.append(header_json(place))
    return answers


def block_json(ctx: ReaderContext, place: HeaderPlace, row: BlockRow, verbosity: int) -> bytes:
    """Return a block as JSON, as `getblock` shows it at verbosity 1 to 3.

    What does not depend on its place is made once. Raises BlockFileError if the block can't be read, RpcError -32603 if
    its undo data can't.
    """
    reader = ctx.reader
    reader.check_block_file(row)
    with_undo = verbosity >= 2 and bool(row.status & HAVE_UNDO)

    def make() -> bytes:
        if verbosity == 1:
            facts = block_facts(ctx, row)
            return orjson.dumps(facts.summary | {"tx": [hash_to_hex(txid) for txid in facts.txids]})
        block = Block.parse(reader.read_block(row))
        undo = _undo(lambda: reader.read_undo(row)) if with_undo else None
        return orjson.dumps(block_contents(block, ctx.params, verbosity, undo))

    if with_undo:
        _undo(lambda: reader.check_undo_file(row))
    return block_bytes(place, ctx.rendered.get(("block", row.hash, min(verbosity, 3), with_undo), make))


def _undo(read: Callable[[], _T]) -> _T:
    try:
        return read()
    except BlockFileError:
        raise RpcError(
            RpcCode.INTERNAL_ERROR,
            "Undo data expected but can't be read. "
            "This could be due to disk corruption or a conflict with a pruning event.",
        ) from None
