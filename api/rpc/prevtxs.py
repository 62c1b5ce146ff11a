"""Outputs that a client describes because nobody may know them yet.

Owns: the checks of their scripts and amounts, with the reference's error texts. Never: looking outputs up.
"""

from typing import Any

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import check_members, parse_amount, parse_hash, parse_hex, parse_int, parse_str
from clarion.api.rpc.spec import Arg, ArgType
from clarion.node.errors import RpcError
from clarion.node.primitives.amounts import MAX_MONEY
from clarion.node.primitives.asm import to_asm
from clarion.node.primitives.hashes import hash160, sha256
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.script import is_p2sh, is_p2wsh, p2sh_script, witness_script
from clarion.node.primitives.transaction import TxOut
from clarion.node.script.signing.provider import FlatSigningProvider

OUTPOINT_ARGS = (
    Arg("txid", ArgType.STR_HEX, "The transaction", required=True),
    Arg("vout", ArgType.NUM, "Number of its output", required=True),
)
"""The members of an object that names an output."""

PREVTXS_ARG = Arg(
    "prevtxs",
    ArgType.ARR,
    "Outputs that the transaction spends and the node may not know",
    inner=(
        Arg(
            "",
            ArgType.OBJ,
            inner=(
                *OUTPOINT_ARGS,
                Arg("scriptPubKey", ArgType.STR_HEX, "The output's script", required=True),
                Arg("redeemScript", ArgType.STR_HEX, "The script behind a P2SH output"),
                Arg("witnessScript", ArgType.STR_HEX, "The script behind a P2WSH or P2SH-P2WSH output"),
                Arg("amount", ArgType.AMOUNT, "The value in BTC, which signatures of segwit inputs need"),
            ),
        ),
    ),
)
_REQUIRED = {"scriptPubKey": "string", "txid": "string", "vout": "number"}
_OPTIONAL = {"redeemScript": "string", "witnessScript": "string"}


def add_prevtxs(prevtxs: list[Any] | None, provider: FlatSigningProvider, coins: dict[OutPoint, TxOut]) -> None:
    """Add described outputs to `coins` and their scripts to `provider`. Raises RpcError -3, -8 or -22.

    An output without amount gets MAX_MONEY, which stands for an unknown one.
    """
    for prevtx in prevtxs or ():
        if not isinstance(prevtx, dict):
            raise _undecodable('expected object with {"txid\'","vout","scriptPubKey"}')
        check_members(prevtx, _REQUIRED, nullable=False)
        txid = parse_hash(prevtx["txid"], "txid")
        index = parse_int(prevtx["vout"])
        if index < 0:
            raise _undecodable("vout cannot be negative")
        script = parse_hex(prevtx["scriptPubKey"], "scriptPubKey")
        _add_output(make_outpoint(txid, index), script, prevtx, coins)
        if is_p2sh(script) or is_p2wsh(script):
            check_members(prevtx, _OPTIONAL, nullable=True)
            _add_scripts(script, prevtx.get("redeemScript"), prevtx.get("witnessScript"), provider)


def _add_output(outpoint: OutPoint, script: bytes, prevtx: dict[str, Any], coins: dict[OutPoint, TxOut]) -> None:
    known = coins.get(outpoint)
    if known is not None and known.script_pubkey != script:
        raise _undecodable(
            f"Previous output scriptPubKey mismatch:\n{to_asm(known.script_pubkey)}\nvs:\n{to_asm(script)}"
        )
    coins[outpoint] = TxOut(parse_amount(prevtx["amount"]) if "amount" in prevtx else MAX_MONEY, script)


def _add_scripts(script_pubkey: bytes, redeem: Any, witness: Any, provider: FlatSigningProvider) -> None:
    if redeem is None and witness is None:
        raise _invalid("Missing redeemScript/witnessScript")
    if witness is None:
        script = parse_hex(redeem, "redeemScript")
    else:
        script = parse_hex(witness, "witnessScript")
    program = witness_script(0, sha256(script))
    # Either may be given in either member, so the script counts as the one behind a witness program too.
    provider.add_script(script)
    provider.add_script(program)
    both_differ = redeem is not None and witness is not None and parse_str(redeem) != witness
    if both_differ and parse_hex(redeem, "redeemScript") != program:
        raise _invalid("redeemScript does not correspond to witnessScript")
    behind = [p2sh_script(hash160(each)) for each in (script, program)] if is_p2sh(script_pubkey) else [program]
    if script_pubkey not in behind:
        raise _invalid("redeemScript/witnessScript does not match scriptPubKey")


def _invalid(message: str) -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, message)


def _undecodable(message: str) -> RpcError:
    return RpcError(RpcCode.DESERIALIZATION_ERROR, message)
