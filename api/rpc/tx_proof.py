"""RPC methods about proofs that a transaction is in a block: gettxoutproof, verifytxoutproof.

Owns: finding the block, and the errors. Never: the tree (`node.primitives.partial_merkle_tree`).
"""

from typing import Any

from clarion.api.rpc.block_facts import block_merkle_levels
from clarion.api.rpc.blocks import find_row, missing_reason
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash, parse_hex, parse_str
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_lookup import find_indexed
from clarion.node.errors import BlockFileError, DecodeError, EndOfData, RpcError
from clarion.node.primitives.block import HEADER_SIZE, BlockHeader
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.partial_merkle_tree import PartialMerkleTree, partial_merkle_tree
from clarion.node.storage.block_status import HAVE_DATA
from clarion.node.storage.rows import BlockRow


@rpc_method(
    "gettxoutproof",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Returns a proof that transactions are in one block (BIP37), in hex.\n"
    "Without the block's hash they are found by an output of one of them that is unspent still, or by -txindex.",
    args=[
        Arg(
            "txids",
            ArgType.ARR,
            "The transactions",
            required=True,
            inner=(Arg("txid", ArgType.STR_HEX, "A transaction"),),
        ),
        Arg("blockhash", ArgType.STR_HEX, "The block that they are in"),
    ],
    results=Result(ResultType.STR, "data", "The proof in hex"),
    examples=(),
)
def gettxoutproof(ctx: ReaderContext, txids: list[Any], blockhash: str | None) -> str:
    """Return header and partial merkle tree in hex. Raises RpcError -5, or -8 for the list itself."""
    wanted = _wanted(txids)
    row = _row_of(ctx, wanted) if blockhash is None else _named_row(ctx, blockhash)
    if not row.status & HAVE_DATA:
        raise RpcError(RpcCode.MISC_ERROR, f"Block not available ({missing_reason(row)})")
    try:
        levels = block_merkle_levels(ctx, row)
    except BlockFileError:
        raise RpcError(RpcCode.INTERNAL_ERROR, "Can't read block from disk") from None
    if not wanted.issubset(levels[0]):
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Not all transactions found in specified or retrieved block")
    return (row.header + partial_merkle_tree(levels, wanted).serialize()).hex()


def _wanted(txids: list[Any]) -> set[Txid]:
    if not txids:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Parameter 'txids' cannot be empty")
    wanted: set[Txid] = set()
    for value in txids:
        txid = Txid(parse_hash(value, "txid"))
        if txid in wanted:
            raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid parameter, duplicated txid: {value}")
        wanted.add(txid)
    return wanted


def _named_row(ctx: ReaderContext, blockhash: str) -> BlockRow:
    block_hash = parse_hash(blockhash, "blockhash")
    with ctx.reader.snapshot() as snapshot:
        return find_row(snapshot, block_hash)


def _row_of(ctx: ReaderContext, wanted: set[Txid]) -> BlockRow:
    """Return the block of the first of the transactions, by hash, that has an unspent output, else the index's word."""
    ctx.node.call_blocking("_flush", [])
    with ctx.reader.coins() as coins:
        tip = coins.tip()
        assert tip is not None, "the set was flushed"
        coin = next((coin for txid in sorted(wanted) if (coin := coins.any_of(txid))), None)
    if coin is not None:
        with ctx.reader.snapshot() as snapshot:
            # The chain may have turned since the coins were read: what they stand at decides.
            top = snapshot.block(tip)
            assert top is not None, "the coins' tip is in the block index"
            row = snapshot.stale_part(top).get(coin.height) or snapshot.block_at(coin.height)
        if row is not None:
            return row
    found = find_indexed(ctx, min(wanted))
    if found is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Transaction not yet in block")
    if found.row is None:
        raise RpcError(RpcCode.INTERNAL_ERROR, "Transaction index corrupt")
    return found.row


@rpc_method(
    "verifytxoutproof",
    category="blockchain",
    where=READER,
    description="Returns the transactions that a proof of gettxoutproof is about, none if it proves nothing.\n"
    "Fails if its block is not in the active chain.",
    args=[Arg("proof", ArgType.STR_HEX, "The proof in hex", required=True)],
    results=Result(ResultType.ARR, "", "", (Result(ResultType.STR_HEX, "txid", "A transaction"),)),
    examples=(),
)
def verifytxoutproof(ctx: ReaderContext, proof: str) -> list[str]:
    """Return the proven txids. Raises RpcError -5 if the block is not in the chain, -1 for bytes that are no proof."""
    text = parse_str(proof)
    raw = parse_hex(text, "proof")
    try:
        header = BlockHeader.parse(raw)
        tree = PartialMerkleTree.parse(raw, HEADER_SIZE)
    except EndOfData:
        raise RpcError(RpcCode.MISC_ERROR, "SpanReader::read(): end of data: iostream error") from None
    except DecodeError as error:
        raise RpcError(RpcCode.MISC_ERROR, str(error)) from None
    try:
        root, txids = tree.extract()
    except DecodeError:
        return []
    if root != header.merkle_root:
        return []
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(header.hash)
        if row is None or not row.tx_count or not snapshot.is_active(row):
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found in chain")
    return [hash_to_hex(txid) for txid in txids] if row.tx_count == tree.tx_count else []
