"""RPC methods that make PSBTs, of a description, of a transaction or of other PSBTs.

Owns: createpsbt, converttopsbt, combinepsbt, joinpsbts. Never: signing, looking outputs up.
"""

import random
from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_list
from clarion.api.rpc.psbt_args import (
    PSBTS_ARG,
    VERSION_ARG,
    decode_psbt,
    decode_psbts,
    encode_psbt,
    parse_psbt_version,
)
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_args import CONSTRUCTION_ARGS, construct_transaction, decode_transaction
from clarion.node.errors import RpcError
from clarion.node.script.psbt.combination import combine_psbts, join_psbts
from clarion.node.script.psbt.psbt import Psbt
from clarion.node.script.psbt.reader import PsbtError

_PSBT_RESULT = Result(ResultType.STR, "", "The PSBT in base64")


@rpc_method(
    "createpsbt",
    category="rawtransactions",
    where=READER,
    description="Returns a PSBT that spends given outputs and makes new ones (the creator's role).\n"
    "It is neither signed nor kept nor sent.",
    args=(*CONSTRUCTION_ARGS, VERSION_ARG),
    results=_PSBT_RESULT,
    examples=(
        (
            '\'[{"txid":"myid","vout":0}]\' \'[{"address":0.01}]\'',
            '[{"txid":"myid","vout":0}], [{"address":0.01}]',
        ),
    ),
)
def createpsbt(
    ctx: ReaderContext,
    inputs: list[Any],
    outputs: Any,
    locktime: Any,
    replaceable: bool | None,
    version: Any,
    psbt_version: Any,
) -> str:
    """Return an empty PSBT. Raises RpcError -1, -3, -5 or -8."""
    tx = construct_transaction(ctx.params, inputs, outputs, locktime, replaceable, version)
    return encode_psbt(Psbt.of_transaction(tx, parse_psbt_version(psbt_version)))


@rpc_method(
    "converttopsbt",
    category="rawtransactions",
    where=READER,
    description="Returns a PSBT of a transaction, as createrawtransaction makes them.\nNew programs use createpsbt.",
    args=[
        Arg("hexstring", ArgType.STR_HEX, "The transaction's bytes", required=True),
        Arg("permitsigdata", ArgType.BOOL, "Whether signatures are left out instead of refused", default=False),
        Arg(
            "iswitness",
            ArgType.BOOL,
            "Whether the bytes are in the encoding with witness: only that one is tried, or only the other one",
            hint="both are tried",
        ),
        VERSION_ARG,
    ],
    results=_PSBT_RESULT,
    examples=(('"rawtransaction"', '"rawtransaction"'),),
)
def converttopsbt(
    ctx: ReaderContext, hexstring: str, permitsigdata: bool, iswitness: bool | None, psbt_version: Any
) -> str:
    """Return the PSBT. Raises RpcError -8 or -22."""
    tx = decode_transaction(hexstring, try_witness=iswitness is not False, try_no_witness=not iswitness)
    if tx is None:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "TX decode failed")
    if not permitsigdata and any(txin.script_sig or txin.witness for txin in tx.inputs):
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "Inputs must not have scriptSigs and scriptWitnesses")
    return encode_psbt(Psbt.of_transaction(tx, parse_psbt_version(psbt_version)))


@rpc_method(
    "combinepsbt",
    category="rawtransactions",
    where=READER,
    description="Returns one PSBT with what several PSBTs of the same transaction know (the combiner's role).",
    args=[PSBTS_ARG],
    results=_PSBT_RESULT,
    examples=(('\'["mybase64_1", "mybase64_2"]\'', '["mybase64_1", "mybase64_2"]'),),
)
def combinepsbt(ctx: ReaderContext, txs: list[Any]) -> str:
    """Return the combined PSBT. Raises RpcError -8 or -22."""
    if not parse_list(txs):
        raise RpcError(RpcCode.INVALID_PARAMETER, "Parameter 'txs' cannot be empty")
    combined = combine_psbts(decode_psbts(txs))
    if combined is None:
        raise RpcError(RpcCode.INVALID_PARAMETER, "PSBTs not compatible (different transactions)")
    return encode_psbt(combined)


@rpc_method(
    "joinpsbts",
    category="rawtransactions",
    where=READER,
    description="Returns one PSBT of version 0 with the inputs and outputs of several, in an order of chance.\n"
    "No output may be spent by two of them. Signatures are left out.",
    args=[PSBTS_ARG],
    results=_PSBT_RESULT,
    examples=(('\'["mybase64_1", "mybase64_2"]\'', '["mybase64_1", "mybase64_2"]'),),
)
def joinpsbts(ctx: ReaderContext, txs: list[Any]) -> str:
    """Return the joined PSBT. Raises RpcError -8 or -22."""
    if len(parse_list(txs)) < 2:
        raise RpcError(RpcCode.INVALID_PARAMETER, "At least two PSBTs are required to join PSBTs.")
    psbts = []
    for text in txs:
        psbts.append(decode_psbt(text))
        if psbts[-1].number != 0:
            raise RpcError(RpcCode.INVALID_PARAMETER, "joinpsbts only operates on version 0 PSBTs")
    try:
        # The order must not tell whose inputs are whose.
        return encode_psbt(join_psbts(psbts, random.SystemRandom().shuffle))
    except PsbtError as error:
        raise RpcError(RpcCode.INVALID_PARAMETER, str(error)) from None
