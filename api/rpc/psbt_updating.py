"""RPC methods that add to PSBTs what the node and descriptors know: utxoupdatepsbt, descriptorprocesspsbt.

Owns: their answers, and where outputs and keys come from. Never: keeping keys.
"""

from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import DEFAULT_RANGE_END, findings_of_scan_objects
from clarion.api.rpc.parse import parse_list
from clarion.api.rpc.psbt_args import PSBT_ARG, decode_psbt, encode_psbt
from clarion.api.rpc.raw_signing import SIGHASH_TYPES, parse_sighash_type
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_lookup import find_indexed
from clarion.api.rpc.transaction_sources import find_coins_at, find_mempool_transaction
from clarion.node.errors import RpcError
from clarion.node.primitives.script import is_p2sh, witness_program
from clarion.node.script.psbt.psbt import Psbt
from clarion.node.script.psbt.signing import (
    Outcome,
    drop_needless_transactions,
    extract_transaction,
    finalize_psbt,
    sign_input,
    transaction_data,
    update_output,
)
from clarion.node.script.signing.provider import FlatSigningProvider, SigningProvider

_T = ResultType
_DESCRIPTORS = (
    Arg("", ArgType.STR, "A descriptor"),
    Arg(
        "",
        ArgType.OBJ,
        "A descriptor with its range",
        inner=(
            Arg("desc", ArgType.STR, "The descriptor", required=True),
            Arg(
                "range",
                ArgType.RANGE,
                "Indexes of its keys, the end or [begin,end]",
                default=DEFAULT_RANGE_END,
            ),
        ),
    ),
)


@rpc_method(
    "utxoupdatepsbt",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Returns a PSBT with the outputs that it spends, as far as the node knows them, and with what descriptors "
    "tell of its scripts and keys.\nOf outputs in the UTXO set alone only those of segwit are taken.",
    args=[PSBT_ARG, Arg("descriptors", ArgType.ARR, "Descriptors", inner=_DESCRIPTORS)],
    results=Result(_T.STR, "", "The PSBT in base64"),
    examples=(('"psbt"', '"psbt"'),),
)
def utxoupdatepsbt(ctx: ReaderContext, psbt: str, descriptors: list[Any] | None) -> str:
    """Return the updated PSBT. Raises RpcError -5, -8, -22 or -25."""
    findings = findings_of_scan_objects(parse_list(descriptors or []), ctx.params)
    updated = decode_psbt(psbt)
    provider = FlatSigningProvider.of_findings(findings, secrets=False)
    _process(ctx, updated, provider, provider, None, finalize=False)
    return encode_psbt(updated)


@rpc_method(
    "descriptorprocesspsbt",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Does what utxoupdatepsbt does, and signs with the private keys in the descriptors.",
    args=[
        PSBT_ARG,
        Arg("descriptors", ArgType.ARR, "Descriptors", required=True, inner=_DESCRIPTORS),
        Arg(
            "sighashtype",
            ArgType.STR,
            "The signature hash type, one of:\n" + "\n".join(f'       "{name}"' for name in SIGHASH_TYPES),
            hint="DEFAULT for Taproot, ALL otherwise",
        ),
        Arg("bip32derivs", ArgType.BOOL, "Whether to add where public keys come from", default=True),
        Arg("finalize", ArgType.BOOL, "Whether solved inputs get their final scripts", default=True),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "psbt", "the PSBT in base64"),
            Result(_T.BOOL, "complete", "whether all inputs have their final scripts"),
            Result(_T.STR_HEX, "hex", "the transaction's bytes if so", optional=True),
        ),
    ),
    examples=(('"psbt" \'["descriptor1"]\'', '"psbt", ["descriptor1"]'),),
)
def descriptorprocesspsbt(
    ctx: ReaderContext, psbt: str, descriptors: list[Any], sighashtype: str | None, bip32derivs: bool, finalize: bool
) -> dict[str, Any]:
    """Return the signed PSBT. Raises RpcError -5, -8, -22 or -25."""
    findings = findings_of_scan_objects(parse_list(descriptors), ctx.params, private=True)
    sighash_type = None if sighashtype is None else parse_sighash_type(sighashtype)
    signer = FlatSigningProvider.of_findings(findings, origins=bip32derivs)
    updater = FlatSigningProvider.of_findings(findings, secrets=False, origins=bip32derivs)
    signed = decode_psbt(psbt)
    _process(ctx, signed, signer, updater, sighash_type, finalize=finalize)
    complete = all(each.is_signed for each in signed.inputs)
    answer: dict[str, Any] = {"psbt": encode_psbt(signed), "complete": complete}
    if complete:
        if not finalize_psbt(signed):
            raise RpcError(RpcCode.INTERNAL_ERROR, "An input's final script is wrong")
        answer["hex"] = extract_transaction(signed).raw.hex()
    return answer


def _process(
    ctx: ReaderContext,
    psbt: Psbt,
    signer: SigningProvider,
    updater: SigningProvider,
    sighash_type: int | None,
    *,
    finalize: bool,
) -> None:
    _add_outputs(ctx, psbt, updater)
    txdata = transaction_data(psbt)
    if txdata is None:
        raise RpcError(RpcCode.VERIFY_ERROR, "The transaction cannot be valid")
    for index, each in enumerate(psbt.inputs):
        if each.is_signed:
            continue
        outcome = sign_input(signer, psbt, index, txdata, sighash_type=sighash_type, finalize=finalize)
        if outcome is Outcome.SIGHASH_MISMATCH:
            raise RpcError(RpcCode.DESERIALIZATION_ERROR, "Specified sighash value does not match value stored in PSBT")
    for output in psbt.outputs:
        update_output(updater, output, txdata)
    drop_needless_transactions(psbt)


def _add_outputs(ctx: ReaderContext, psbt: Psbt, provider: SigningProvider) -> None:
    """Add the spent transactions that the index or the mempool has, else the spent outputs of segwit."""
    lacking = []
    for each in psbt.inputs:
        if each.non_witness_utxo is not None:
            continue
        found = find_indexed(ctx, each.prev_txid)
        each.non_witness_utxo = find_mempool_transaction(ctx, each.prev_txid) if found is None else found.tx
        if each.non_witness_utxo is None:
            lacking.append(each)
    coins = find_coins_at(ctx, [each.prevout for each in lacking]) if lacking else {}
    for each in lacking:
        coin = coins.get(each.prevout)
        if coin is not None and _is_segwit(coin.script_pubkey, provider):
            each.witness_utxo = coin


def _is_segwit(script: bytes, provider: SigningProvider) -> bool:
    inner = provider.script(script[2:22]) if is_p2sh(script) else None
    return witness_program(script if inner is None else inner) is not None
