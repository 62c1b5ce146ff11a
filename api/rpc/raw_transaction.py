"""RPC methods about transactions and scripts alone: createrawtransaction, decoderawtransaction, decodescript.

Owns: their answers. Never: the chain, the mempool, keys.
"""

from typing import Any

from clarion.api.render.script import decoded_script_json
from clarion.api.render.transaction import transaction_json
from clarion.api.rpc.block_results import transaction_fields
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hex
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_args import CONSTRUCTION_ARGS, construct_transaction, decode_transaction
from clarion.node.errors import RpcError

_T = ResultType


@rpc_method(
    "createrawtransaction",
    category="rawtransactions",
    where=READER,
    description="Returns a transaction that spends given outputs and makes new ones, in hex.\n"
    "It is neither signed nor kept nor sent.",
    args=CONSTRUCTION_ARGS,
    results=Result(_T.STR_HEX, "transaction", "The transaction's bytes"),
    examples=(
        (
            '\'[{"txid":"myid","vout":0}]\' \'[{"address":0.01}]\'',
            '[{"txid":"myid","vout":0}], [{"address":0.01}]',
        ),
        (
            '\'[{"txid":"myid","vout":0}]\' \'[{"data":"00010203"}]\'',
            '[{"txid":"myid","vout":0}], [{"data":"00010203"}]',
        ),
    ),
)
def createrawtransaction(
    ctx: ReaderContext, inputs: list[Any], outputs: Any, locktime: Any, replaceable: bool | None, version: Any
) -> str:
    """Return an unsigned transaction."""
    return construct_transaction(ctx.params, inputs, outputs, locktime, replaceable, version).raw.hex()


@rpc_method(
    "decoderawtransaction",
    category="rawtransactions",
    where=READER,
    description="Returns what a transaction's bytes say.",
    args=[
        Arg("hexstring", ArgType.STR_HEX, "The transaction's bytes", required=True),
        Arg(
            "iswitness",
            ArgType.BOOL,
            "Whether they are in the encoding with witness: only that one is tried, or only the other one",
            hint="both are tried",
        ),
    ],
    results=Result(_T.OBJ, "", "", transaction_fields(include_hex=False)),
    examples=(('"hexstring"', '"hexstring"'),),
)
def decoderawtransaction(ctx: ReaderContext, hexstring: str, iswitness: bool | None) -> dict[str, Any]:
    """Return a decoded transaction. Raises RpcError -22."""
    tx = decode_transaction(hexstring, try_witness=iswitness is not False, try_no_witness=not iswitness)
    if tx is None:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "TX decode failed")
    return transaction_json(tx, ctx.params, include_hex=False)


_SEGWIT = Result(
    _T.OBJ,
    "segwit",
    "the witness program that wraps the script, where one may",
    (
        Result(_T.STR, "asm", "the program's script in words"),
        Result(_T.STR_HEX, "hex", "its bytes"),
        Result(_T.STR, "type", "its kind"),
        Result(_T.STR, "address", "its address", optional=True),
        Result(_T.STR, "desc", "its descriptor"),
        Result(_T.STR, "p2sh-segwit", "address of the P2SH script that wraps the program"),
    ),
    optional=True,
)


@rpc_method(
    "decodescript",
    category="rawtransactions",
    where=READER,
    description="Returns what a script says, and the addresses of scripts that wrap it.",
    args=[Arg("hexstring", ArgType.STR_HEX, "The script's bytes, which may be none", required=True)],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "asm", "the script in words"),
            Result(_T.STR, "desc", "descriptor that describes the script"),
            Result(_T.STR, "type", "kind of script"),
            Result(_T.STR, "address", "the address, where the script has one", optional=True),
            Result(_T.STR, "p2sh", "address of the P2SH script that wraps it, where one may", optional=True),
            _SEGWIT,
        ),
    ),
    examples=(('"hexstring"', '"hexstring"'),),
)
def decodescript(ctx: ReaderContext, hexstring: str) -> dict[str, Any]:
    """Return a decoded script. Raises RpcError -8."""
    return decoded_script_json(parse_hex(hexstring, "argument") if hexstring else b"", ctx.params)
