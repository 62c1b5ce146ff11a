"""RPC methods that bring blocks in: submitblock, submitheader, and the generate methods of test networks.

Owns: their arguments, answers (BIP22) and errors. Never: building or judging blocks.
"""

from typing import Any

from clarion.api.rpc.context import NodeContext, ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.help import method_help
from clarion.api.rpc.outputs import script_of_address, script_of_descriptor
from clarion.api.rpc.parse import UINT64, is_hex, parse_int, parse_str, unhex
from clarion.api.rpc.registry import NODE, READER, find, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import BlockInvalid, DecodeError, RpcError
from clarion.node.mining.generate import generate_block, generate_to_script
from clarion.node.mining.template import complete_witness
from clarion.node.primitives.block import HEADER_SIZE, Block, BlockHeader, KnownTransaction, parse_block
from clarion.node.primitives.ids import Txid, hash_to_hex
from clarion.node.primitives.transaction import Transaction, decode_hex_transaction

DEFAULT_MAX_TRIES = 1_000_000

_HASHES = Result(ResultType.ARR, "", "hashes of the new blocks", (Result(ResultType.STR_HEX, "", "block hash"),))
_MAX_TRIES = Arg("maxtries", ArgType.NUM, "How many nonces to try", default=DEFAULT_MAX_TRIES)


@rpc_method(
    "submitblock",
    category="mining",
    where=NODE,
    description="Offers a new block to the node and so to the network (BIP22).",
    args=[
        Arg("hexdata", ArgType.STR_HEX, "the whole block", required=True),
        Arg("dummy", ArgType.STR, "for BIP22, no effect", hint="ignored"),
    ],
    results=[
        Result(ResultType.NONE, condition="if the block was accepted"),
        Result(ResultType.STR, "", "the reason as in BIP22", condition="otherwise"),
    ],
    examples=(('"mydata"', '"mydata"'),),
)
def submitblock(ctx: NodeContext, hexdata: str, dummy: str | None) -> str | None:
    """Return None if the block was accepted and checked, else BIP22's word or the reject reason."""
    block = decode_block(hexdata, ctx.mempool.pool.spending_transaction)
    manager = ctx.chain.manager
    parent = manager.lookup(block.header.prev_hash)
    if parent is not None:
        block = complete_witness(block, parent, ctx.params)
    outcome = ctx.chain.submit(manager.process_new_block, block).result()
    if outcome.accepted and not outcome.new:
        return "duplicate"
    if not outcome.checked:
        return "inconclusive"
    return None if outcome.invalid is None else bip22_answer(outcome.invalid)


def decode_block(text: str, known: KnownTransaction | None = None) -> Block:
    """Return the block of a hex text. Bytes behind it are no fault, as in the reference. Raises RpcError -22.

    `known` has the transactions that need not be decoded again (see `parse_block`).
    """
    data = unhex(text)
    try:
        if data is not None:
            return parse_block(data, known=known)[0]
    except DecodeError:
        pass
    raise RpcError(RpcCode.DESERIALIZATION_ERROR, "Block decode failed")


def bip22_answer(invalid: BlockInvalid) -> str:
    """Return the reason in the words of BIP22."""
    return invalid.reject_reason or "rejected"


@rpc_method(
    "submitheader",
    category="mining",
    where=NODE,
    description="Offers a header as a candidate for the chain.\nAn invalid header is an error.",
    args=[Arg("hexdata", ArgType.STR_HEX, "the 80 bytes of the header", required=True)],
    results=Result(ResultType.NONE),
    examples=(('"aabbcc"', '"aabbcc"'),),
)
def submitheader(ctx: NodeContext, hexdata: str) -> None:
    """Add a header to the tree. Raises RpcError -22, or -25 with the reject reason."""
    data = unhex(hexdata)
    if data is None or len(data) < HEADER_SIZE:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "Block header decode failed")
    header = BlockHeader.parse(data)
    manager = ctx.chain.manager
    if manager.lookup(header.prev_hash) is None:
        raise RpcError(RpcCode.VERIFY_ERROR, f"Must submit previous header ({hash_to_hex(header.prev_hash)}) first")
    try:
        ctx.chain.submit(manager.process_new_headers, [header]).result()
    except BlockInvalid as invalid:
        raise RpcError(RpcCode.VERIFY_ERROR, invalid.reject_reason) from None


def _generate(ctx: NodeContext, script: bytes, nblocks: int, max_tries: int) -> list[str]:
    hashes = generate_to_script(ctx.miner, script, nblocks, max_tries)
    return [hash_to_hex(block_hash) for block_hash in hashes]


@rpc_method(
    "generatetoaddress",
    category="hidden",
    where=NODE,
    description="Mines blocks that pay to an address.",
    args=[
        Arg("nblocks", ArgType.NUM, "How many blocks", required=True),
        Arg("address", ArgType.STR, "Who gets the coins", required=True),
        _MAX_TRIES,
    ],
    results=_HASHES,
    examples=(('11 "myaddress"', '11, "myaddress"'),),
)
def generatetoaddress(ctx: NodeContext, nblocks: int, address: str, maxtries: int) -> list[str]:
    """Mine blocks to an address. Raises RpcError -5 for an invalid one."""
    count = parse_int(nblocks)
    # An int32 that the reference makes a uint64: a negative one means nearly for ever.
    max_tries = parse_int(maxtries) % (1 << 64)
    script = script_of_address(address, ctx.params)
    if script is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Error: Invalid address")
    return _generate(ctx, script, count, max_tries)


@rpc_method(
    "generatetodescriptor",
    category="hidden",
    where=NODE,
    description="Mines blocks that pay to a descriptor.",
    args=[
        Arg("num_blocks", ArgType.NUM, "How many blocks", required=True),
        Arg("descriptor", ArgType.STR, "Who gets the coins", required=True),
        _MAX_TRIES,
    ],
    results=_HASHES,
    examples=(('11 "mydesc"', '11, "mydesc"'),),
)
def generatetodescriptor(ctx: NodeContext, num_blocks: int, descriptor: str, maxtries: int) -> list[str]:
    """Mine blocks to a descriptor. Raises RpcError -5 or -8 if it names no single script."""
    count, max_tries = parse_int(num_blocks), parse_int(maxtries, UINT64)
    return _generate(ctx, script_of_descriptor(descriptor, ctx.params), count, max_tries)


@rpc_method(
    "generateblock",
    category="hidden",
    where=NODE,
    description="Mines one block of given transactions, in their order, that pays to an address or descriptor.\n"
    "The fees are not claimed.",
    args=[
        Arg("output", ArgType.STR, "Address or descriptor that gets the coins", required=True),
        Arg(
            "transactions",
            ArgType.ARR,
            "Raw transactions, or txids of transactions in the mempool.\nAll must be valid in this order.",
            required=True,
            inner=(Arg("rawtx/txid", ArgType.STR_HEX),),
        ),
        Arg("submit", ArgType.BOOL, "Whether to submit the block, or to return it instead", default=True),
    ],
    results=Result(
        ResultType.OBJ,
        "",
        "",
        (
            Result(ResultType.STR_HEX, "hash", "hash of the block"),
            Result(ResultType.STR_HEX, "hex", "the block, only with submit=false", optional=True),
        ),
    ),
    examples=(('"myaddress" \'["rawtx", "mempool_txid"]\'', '"myaddress", ["rawtx", "mempool_txid"]'),),
)
def generateblock(ctx: NodeContext, output: str, transactions: list[Any], submit: bool) -> dict[str, str]:
    """Mine one block of chosen transactions. Raises RpcError -5, -22, or -25 if it would be invalid."""
    script = _script_of_output(ctx, output)
    txs = [_transaction(ctx, parse_str(text)) for text in transactions]
    try:
        block = generate_block(ctx.miner, script, txs, submit)
    except BlockInvalid as invalid:
        raise RpcError(RpcCode.VERIFY_ERROR, f"TestBlockValidity failed: {invalid}") from None
    if block is None:
        raise RpcError(RpcCode.MISC_ERROR, "Failed to make block.")
    answer = {"hash": hash_to_hex(block.hash)}
    if not submit:
        answer["hex"] = block.raw.hex()
    return answer


@rpc_method(
    "generate",
    category="hidden",
    where=READER,
    description="has been replaced by the -generate cli option. Refer to -help for more information.",
    results=Result(ResultType.ANY),
    examples=(),
)
def generate(ctx: ReaderContext) -> None:
    """Say that the method is gone, as the reference does."""
    method = find("generate")
    assert method is not None
    raise RpcError(RpcCode.METHOD_NOT_FOUND, method_help(method))


def _script_of_output(ctx: NodeContext, output: str) -> bytes:
    try:
        return script_of_descriptor(output, ctx.params)
    except RpcError as error:
        # A descriptor that names several scripts or hides its keys is an error of its own, not an address.
        if error.code == RpcCode.INVALID_PARAMETER or error.message.startswith("Cannot derive"):
            raise
    script = script_of_address(output, ctx.params)
    if script is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Error: Invalid address or descriptor")
    return script


def _transaction(ctx: NodeContext, text: str) -> Transaction:
    if len(text) == 64 and is_hex(text):
        pool = ctx.mempool.pool
        with pool.lock:
            entry = pool.get(Txid(bytes.fromhex(text)[::-1]))
        if entry is None:
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, f"Transaction {text} not in mempool.")
        return entry.tx
    data = unhex(text)
    try:
        if data is not None:
            return decode_hex_transaction(data)
    except DecodeError:
        pass
    raise RpcError(
        RpcCode.DESERIALIZATION_ERROR,
        f"Transaction decode failed for {text}. Make sure the tx has at least one input.",
    )
