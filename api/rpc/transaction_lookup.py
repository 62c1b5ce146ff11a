"""Transactions by txid: where a client may find one, and getrawtransaction.

Owns: the places that are searched, the reference's errors, and what is said of a transaction's block. Never: rendering.
"""

from typing import Any, NamedTuple

from clarion.api.render.transaction import transaction_json
from clarion.api.rpc.block_results import transaction_fields
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.index_access import find_indexed_transaction, has_index, wait_for_index
from clarion.api.rpc.parse import parse_hash, parse_verbosity
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_sources import find_mempool_transaction
from clarion.node.errors import BlockFileError, RpcError
from clarion.node.primitives.block import Block
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction
from clarion.node.storage.block_status import HAVE_DATA, HAVE_UNDO
from clarion.node.storage.rows import BlockRow
from clarion.plugins.bundled import txindex

_T = ResultType
_WALLET_HINT = ". Use gettransaction for wallet transactions."


class FoundTransaction(NamedTuple):
    """A transaction and, if it was found in a block, that block's row and its own place there if it is known."""

    tx: Transaction
    row: BlockRow | None = None
    position: int | None = None


class _Standing(NamedTuple):
    """Where a block stands in the chain: `confirmations` is 0 off the active one."""

    active: bool
    confirmations: int


def find_transaction(ctx: ReaderContext, txid: bytes, row: BlockRow | None) -> FoundTransaction | None:
    """Return a transaction of the block of `row`; if no block is named, of the mempool or by -txindex. None if it is
    not there.

    Called from a thread: files are read, and an index is waited for.
    """
    if row is None:
        found = find_mempool_transaction(ctx, txid)
        # In this order: one that leaves the mempool for a block is in the index by the time that is asked.
        return find_indexed(ctx, txid) if found is None else FoundTransaction(found)
    try:
        block = Block.parse(ctx.reader.read_block(row))
    except BlockFileError:
        return None
    for position, tx in enumerate(block.txs):
        if tx.txid == txid:
            return FoundTransaction(tx, row, position)
    return None


def find_indexed(ctx: ReaderContext, txid: bytes) -> FoundTransaction | None:
    """Return a transaction that -txindex knows, with its block's row. None without the index, or if it has no word.

    Called from a thread: the index is waited for.
    """
    if not has_index(ctx, txindex.NAME):
        return None
    wait_for_index(ctx, txindex.NAME, txindex.STORE_NAME)
    try:
        found = find_indexed_transaction(ctx, txid)
    except BlockFileError:
        return None
    if found is None:
        return None
    with ctx.reader.snapshot() as snapshot:
        return FoundTransaction(found[0], snapshot.block(found[1]))


def _not_found(ctx: ReaderContext, row: BlockRow | None) -> RpcError:
    if row is None and has_index(ctx, txindex.NAME):
        message = (
            "No such mempool or blockchain transaction"
            if wait_for_index(ctx, txindex.NAME, txindex.STORE_NAME)
            else "No such mempool transaction. Blockchain transactions are still in the process of being indexed"
        )
    elif row is None:
        message = (
            "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries"
        )
    elif not row.status & HAVE_DATA:
        return RpcError(RpcCode.MISC_ERROR, "Block not available")
    else:
        message = "No such transaction found in the provided block"
    return RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, message + _WALLET_HINT)


_BLOCK_FIELDS = (
    Result(_T.BOOL, "in_active_chain", "whether the named block is in the active chain", optional=True),
    Result(_T.STR_HEX, "blockhash", "the block that holds it", optional=True),
    Result(_T.NUM, "confirmations", "number of confirmations, 0 off the active chain", optional=True),
    Result(_T.NUM_TIME, "blocktime", "the block's time in UNIX epoch time", optional=True),
    Result(_T.NUM, "time", "the same", optional=True),
)


@rpc_method(
    "getrawtransaction",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Returns a transaction of the mempool, of the named block or, with -txindex, of any block.\n"
    "Verbosity 0: its bytes in hex; 1: an object; 2: with fee and spent outputs too, where undo data is there.",
    args=[
        Arg("txid", ArgType.STR_HEX, "The transaction", required=True),
        Arg(
            "verbosity|verbose",
            ArgType.NUM,
            "0 for hex, 1 for an object, 2 with fee and spent outputs",
            default=0,
            unchecked=True,
        ),
        Arg("blockhash", ArgType.STR_HEX, "The block in which to look"),
    ],
    results=[
        Result(_T.STR, "data", "the transaction's bytes in hex", condition="if verbosity is 0"),
        Result(_T.OBJ, "", "", (*_BLOCK_FIELDS, *transaction_fields()), condition="if verbosity is 1"),
        Result(
            _T.OBJ,
            "",
            "",
            (*_BLOCK_FIELDS, *transaction_fields(fee=True, prevout=True)),
            condition="if verbosity is 2",
        ),
    ],
    examples=(
        ('"mytxid"', '"mytxid"'),
        ('"mytxid" 1', '"mytxid", 1'),
        ('"mytxid" 2 "myblockhash"', '"mytxid", 2, "myblockhash"'),
    ),
)
def getrawtransaction(ctx: ReaderContext, txid: str, verbosity: Any, blockhash: str | None) -> Any:
    """Return a transaction. Raises RpcError -5 if there is none, -1 or -32603 if a file is missing."""
    wanted = parse_hash(txid, "parameter 1")
    if wanted == ctx.params.genesis.header.merkle_root:
        raise RpcError(
            RpcCode.INVALID_ADDRESS_OR_KEY,
            "The genesis block coinbase is not considered an ordinary transaction and cannot be retrieved",
        )
    verbosity = parse_verbosity(verbosity, 0)
    row, standing = None, None
    if blockhash is not None:
        row, standing = _named_block(ctx, parse_hash(blockhash, "parameter 3"))
    found = find_transaction(ctx, wanted, row)
    if found is None:
        raise _not_found(ctx, row)
    if verbosity <= 0:
        return found.tx.raw.hex()
    answer: dict[str, Any] = {} if standing is None else {"in_active_chain": standing.active}
    if found.row is not None and standing is None:
        _, standing = _named_block(ctx, found.row.hash)
    spent = _spent_coins(ctx, found) if verbosity >= 2 else None
    answer |= transaction_json(found.tx, ctx.params, spent=spent, prevouts=True)
    if found.row is not None and standing is not None:
        answer |= _block_members(found.row, standing)
    return answer


def _named_block(ctx: ReaderContext, block_hash: bytes) -> tuple[BlockRow, _Standing]:
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(block_hash)
        if row is None:
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block hash not found")
        confirmations = snapshot.confirmations(row)
    return row, _Standing(confirmations > 0, max(confirmations, 0))


def _block_members(row: BlockRow, standing: _Standing) -> dict[str, Any]:
    members: dict[str, Any] = {"blockhash": hash_to_hex(row.hash), "confirmations": standing.confirmations}
    if standing.active:
        members |= {"time": row.time, "blocktime": row.time}
    return members


def _spent_coins(ctx: ReaderContext, found: FoundTransaction) -> list[Coin] | None:
    """Return the coins that a transaction spends, None for a coinbase and where there is no block to ask."""
    row = found.row
    if found.tx.is_coinbase or row is None or not row.status & (HAVE_DATA | HAVE_UNDO):
        return None
    try:
        undo = ctx.reader.read_undo(row)
    except BlockFileError:
        raise RpcError(
            RpcCode.INTERNAL_ERROR,
            "Undo data expected but can't be read. "
            "This could be due to disk corruption or a conflict with a pruning event.",
        ) from None
    position = _position_in_block(ctx, row, found.tx) if found.position is None else found.position
    return None if position is None else undo[position - 1]


def _position_in_block(ctx: ReaderContext, row: BlockRow, tx: Transaction) -> int | None:
    try:
        block = Block.parse(ctx.reader.read_block(row))
    except BlockFileError:
        raise RpcError(
            RpcCode.INTERNAL_ERROR,
            "Block data expected but can't be read. "
            "This could be due to disk corruption or a conflict with a pruning event.",
        ) from None
    return next((position for position, each in enumerate(block.txs) if each.wtxid == tx.wtxid), None)
