"""RPC methods that sign raw transactions: signrawtransactionwithkey, combinerawtransaction.

Owns: their answers, and the previous outputs that a client describes. Never: making signatures, keeping keys.
"""

from typing import Any

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_list, parse_str
from clarion.api.rpc.prevtxs import PREVTXS_ARG, add_prevtxs
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.transaction_args import decode_transaction
from clarion.api.rpc.transaction_sources import spent_outputs
from clarion.node.errors import RpcError
from clarion.node.primitives.address import decode_secret
from clarion.node.primitives.amounts import format_amount
from clarion.node.primitives.ids import hash_to_hex, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.sighash import (
    SIGHASH_ALL,
    SIGHASH_ANYONECANPAY,
    SIGHASH_DEFAULT,
    SIGHASH_NONE,
    SIGHASH_SINGLE,
)
from clarion.node.script.signing.provider import FlatSigningProvider
from clarion.node.script.signing.signed_transaction import (
    INPUT_NOT_FOUND,
    MISSING_AMOUNT,
    combine_transactions,
    sign_transaction,
)

_T = ResultType
SIGHASH_TYPES = {
    "DEFAULT": SIGHASH_DEFAULT,
    "ALL": SIGHASH_ALL,
    "NONE": SIGHASH_NONE,
    "SINGLE": SIGHASH_SINGLE,
    "ALL|ANYONECANPAY": SIGHASH_ALL | SIGHASH_ANYONECANPAY,
    "NONE|ANYONECANPAY": SIGHASH_NONE | SIGHASH_ANYONECANPAY,
    "SINGLE|ANYONECANPAY": SIGHASH_SINGLE | SIGHASH_ANYONECANPAY,
}
"""Signature hash types by the names that requests use."""

_SHOWN_SCRIPT_DIGITS = 30


def parse_sighash_type(text: str | None) -> int:
    """Return the signature hash type of a name, DEFAULT for None. Raises RpcError -8."""
    if text is None:
        return SIGHASH_DEFAULT
    if text not in SIGHASH_TYPES:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"'{text}' is not a valid sighash parameter.")
    return SIGHASH_TYPES[text]


_ERROR = Result(
    _T.OBJ,
    "",
    "",
    (
        Result(_T.STR_HEX, "txid", "transaction whose output is spent"),
        Result(_T.NUM, "vout", "number of that output"),
        Result(_T.ARR, "witness", "the input's witness", (Result(_T.STR_HEX, "witness", "one item"),)),
        Result(_T.STR_HEX, "scriptSig", "the input's script"),
        Result(_T.NUM, "sequence", "the input's sequence number"),
        Result(_T.STR, "error", "what is wrong or missing"),
    ),
)


@rpc_method(
    "signrawtransactionwithkey",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Signs the inputs of a transaction with given private keys and no others.\n"
    "Outputs that it spends are looked up, or taken from the third argument where nobody may know them yet.",
    args=[
        Arg("hexstring", ArgType.STR, "The transaction's bytes", required=True),
        Arg(
            "privkeys",
            ArgType.ARR,
            "Private keys in the wallet import format",
            required=True,
            inner=(Arg("privatekey", ArgType.STR_HEX),),
        ),
        PREVTXS_ARG,
        Arg(
            "sighashtype",
            ArgType.STR,
            "The signature hash type, one of:\n" + "\n".join(f'       "{name}"' for name in SIGHASH_TYPES),
            hint="DEFAULT for Taproot, ALL otherwise",
        ),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR_HEX, "hex", "the transaction with the signatures that could be made"),
            Result(_T.BOOL, "complete", "whether every input is signed"),
            Result(_T.ARR, "errors", "what is wrong with the others", (_ERROR,), optional=True),
        ),
    ),
    examples=(('"myhex" \'["key1","key2"]\'', '"myhex", ["key1","key2"]'),),
)
def signrawtransactionwithkey(
    ctx: ReaderContext, hexstring: str, privkeys: list[Any], prevtxs: list[Any] | None, sighashtype: str | None
) -> dict[str, Any]:
    """Return the signed transaction. Raises RpcError -3, -5, -8 or -22."""
    tx = decode_transaction(hexstring)
    if tx is None:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "TX decode failed. Make sure the tx has at least one input.")
    provider = FlatSigningProvider()
    for text in privkeys:
        key = decode_secret(parse_str(text), ctx.params)
        if key is None:
            raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Invalid private key")
        provider.add_secret(key)
    coins = spent_outputs(ctx, tx)
    add_prevtxs(prevtxs, provider, coins)
    signed = sign_transaction(tx, provider, coins, parse_sighash_type(sighashtype))
    errors = []
    for index, message in signed.errors.items():
        txin = signed.tx.inputs[index]
        if message == MISSING_AMOUNT:
            raise RpcError(RpcCode.TYPE_ERROR, f"Missing amount for {_describe(coins[txin.prevout])}")
        errors.append(_error_json(txin, message))
    answer: dict[str, Any] = {"hex": signed.tx.raw.hex(), "complete": signed.complete}
    if errors:
        answer["errors"] = errors
    return answer


def _describe(output: TxOut) -> str:
    script_hex = output.script_pubkey.hex()[:_SHOWN_SCRIPT_DIGITS]
    return f"CTxOut(nValue={format_amount(output.value)}, scriptPubKey={script_hex})"


def _error_json(txin: TxIn, message: str) -> dict[str, Any]:
    return {
        "txid": hash_to_hex(outpoint_txid(txin.prevout)),
        "vout": outpoint_index(txin.prevout),
        "witness": [item.hex() for item in txin.witness],
        "scriptSig": txin.script_sig.hex(),
        "sequence": txin.sequence,
        "error": message,
    }


@rpc_method(
    "combinerawtransaction",
    category="rawtransactions",
    where=READER,
    heavy=True,
    description="Returns one transaction with the signatures of several that are signed in part.",
    args=[
        Arg(
            "txs",
            ArgType.ARR,
            "The same transaction with the signatures of different signers",
            required=True,
            inner=(Arg("hexstring", ArgType.STR_HEX, "A transaction's bytes"),),
        ),
    ],
    results=Result(_T.STR, "", "The transaction's bytes in hex"),
    examples=(('\'["myhex1", "myhex2", "myhex3"]\'', '["myhex1", "myhex2", "myhex3"]'),),
)
def combinerawtransaction(ctx: ReaderContext, txs: list[Any]) -> str:
    """Return the combined transaction. Raises RpcError -8, -22, or -25 if an output that it spends is unknown."""
    variants = _variants(parse_list(txs))
    coins = spent_outputs(ctx, variants[0])
    if any(txin.prevout not in coins for txin in variants[0].inputs):
        raise RpcError(RpcCode.VERIFY_ERROR, INPUT_NOT_FOUND)
    return combine_transactions(variants, coins, SIGHASH_ALL).raw.hex()


def _variants(texts: list[Any]) -> list[Transaction]:
    if len(texts) < 2:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, "Missing transactions. At least two transactions required.")
    variants = []
    for position, text in enumerate(texts):
        tx = decode_transaction(parse_str(text))
        if tx is None:
            raise RpcError(
                RpcCode.DESERIALIZATION_ERROR,
                f"TX decode failed for tx {position}. Make sure the tx has at least one input.",
            )
        variants.append(tx)
    unsigned = [_without_signatures(tx).txid for tx in variants]
    for number, txid in enumerate(unsigned, 1):
        if txid != unsigned[0]:
            raise RpcError(
                RpcCode.INVALID_PARAMETER, f"Transaction number {number} not compatible with first transaction"
            )
    return variants


def _without_signatures(tx: Transaction) -> Transaction:
    inputs = [TxIn(txin.prevout, sequence=txin.sequence) for txin in tx.inputs]
    return Transaction(tx.version, inputs, tx.outputs, tx.lock_time)
