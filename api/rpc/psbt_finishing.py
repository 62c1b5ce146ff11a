"""RPC methods that tell what a PSBT lacks, and that end it: analyzepsbt, finalizepsbt.

Owns: their answers. Never: adding what is missing.
"""

from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.psbt_args import PSBT_ARG, decode_psbt, encode_psbt
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.consensus.sigops import transaction_sigop_cost
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.policy.size import virtual_size
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.psbt.analysis import InputState, PsbtState, analyze_psbt
from clarion.node.script.psbt.signing import extract_transaction, finalize_psbt

_T = ResultType
_BYTES_PER_SIGOP = 20

_MISSING = Result(
    _T.OBJ,
    "missing",
    "what the input lacks",
    (
        Result(_T.ARR, "pubkeys", "public keys, by their hash160", (Result(_T.STR_HEX, "keyid"),), optional=True),
        Result(_T.ARR, "signatures", "signatures, by the keys' hash160", (Result(_T.STR_HEX, "keyid"),), optional=True),
        Result(_T.STR_HEX, "redeemscript", "the redeem script, by its hash160", optional=True),
        Result(_T.STR_HEX, "witnessscript", "the witness script, by its SHA-256", optional=True),
    ),
    optional=True,
)


@rpc_method(
    "analyzepsbt",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Returns what a PSBT lacks and who has to go on with it: updater, signer, finalizer or extractor.",
    args=[PSBT_ARG],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(
                _T.ARR,
                "inputs",
                "the inputs",
                (
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            Result(_T.BOOL, "has_utxo", "whether the output that it spends is known"),
                            Result(_T.BOOL, "is_final", "whether it has its final script and witness"),
                            _MISSING,
                            Result(_T.STR, "next", "who goes on with the input", optional=True),
                        ),
                    ),
                ),
                optional=True,
            ),
            Result(_T.NUM, "estimated_vsize", "virtual bytes of the finished transaction", optional=True),
            Result(_T.STR_AMOUNT, "estimated_feerate", "its fee in BTC for 1,000 virtual bytes", optional=True),
            Result(_T.STR_AMOUNT, "fee", "its fee in BTC, where all outputs that are spent are known", optional=True),
            Result(_T.STR, "next", "who goes on with the PSBT"),
            Result(_T.STR, "error", "what makes it useless", optional=True),
        ),
    ),
    examples=(('"psbt"', '"psbt"'),),
)
def analyzepsbt(ctx: ReaderContext, psbt: str) -> dict[str, Any]:
    """Return where a PSBT stands. Raises RpcError -22."""
    state = analyze_psbt(decode_psbt(psbt))
    answer: dict[str, Any] = {}
    if state.inputs:
        answer["inputs"] = [_input(each) for each in state.inputs]
    if state.fee_sat is not None:
        answer |= _estimate(state, state.fee_sat)
        answer["fee"] = amount_json(state.fee_sat)
    answer["next"] = state.next.name.lower()
    if state.error:
        answer["error"] = state.error
    return answer


def _estimate(state: PsbtState, fee_sat: int) -> dict[str, Any]:
    tx = state.estimate
    if tx is None:
        return {}
    sigop_cost = transaction_sigop_cost(tx, state.spent, STANDARD_SCRIPT_VERIFY_FLAGS)
    vsize = virtual_size(tx.weight, sigop_cost, _BYTES_PER_SIGOP)
    return {"estimated_vsize": vsize, "estimated_feerate": amount_json(FeeRate(fee_sat, vsize).sat_per_kvb)}


def _input(state: InputState) -> dict[str, Any]:
    lacks = state.missing
    missing: dict[str, Any] = {}
    if lacks.pubkeys:
        missing["pubkeys"] = [key_hash.hex() for key_hash in lacks.pubkeys]
    if lacks.redeem_script:
        missing["redeemscript"] = lacks.redeem_script.hex()
    if lacks.witness_script:
        missing["witnessscript"] = lacks.witness_script.hex()
    if lacks.signatures:
        missing["signatures"] = [key_hash.hex() for key_hash in lacks.signatures]
    answer: dict[str, Any] = {
        "has_utxo": state.has_utxo,
        "is_final": state.is_final,
        "next": state.next.name.lower(),
    }
    return answer | ({"missing": missing} if missing else {})


@rpc_method(
    "finalizepsbt",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Gives the inputs of a PSBT that are solved their final scripts (the finalizer's role), and returns the "
    "transaction if all of them have one (the extractor's).",
    args=[
        PSBT_ARG,
        Arg("extract", ArgType.BOOL, "Whether to return a complete transaction instead of the PSBT", default=True),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "psbt", "the PSBT in base64 if the transaction is not returned", optional=True),
            Result(_T.STR_HEX, "hex", "the transaction's bytes if it is", optional=True),
            Result(_T.BOOL, "complete", "whether all inputs have their final scripts"),
        ),
    ),
    examples=(('"psbt"', '"psbt"'),),
)
def finalizepsbt(ctx: ReaderContext, psbt: str, extract: bool) -> dict[str, Any]:
    """Return the transaction or the PSBT. Raises RpcError -22."""
    final = decode_psbt(psbt)
    complete = finalize_psbt(final)
    if complete and extract:
        return {"hex": extract_transaction(final).raw.hex(), "complete": True}
    return {"psbt": encode_psbt(final), "complete": complete}
