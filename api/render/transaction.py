"""Transactions as JSON.

Owns: the members of a decoded transaction (the reference's TxToUniv). Never: where it was found.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_fragment, script_sig_json
from clarion.node.primitives.address import AddressFormat, AddressPrefixes
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction, TxIn


def transaction_json(
    tx: Transaction,
    network: AddressFormat,
    *,
    spent: Sequence[Coin] | None = None,
    prevouts: bool = False,
    block_hash: bytes | None = None,
    include_hex: bool = True,
) -> dict[str, Any]:
    """Return a transaction as RPC and REST show it; only orjson can encode the result.

    With the coins that its inputs spend, in their order, `fee` is shown, and with `prevouts` each `prevout` too.
    Pass none for a coinbase and where undo data is not at hand.
    """
    prefixes = AddressPrefixes.of(network)
    raw = tx.raw
    weight = tx.base_size * 3 + len(raw)
    txid = hash_to_hex(tx.txid)
    out: dict[str, Any] = {
        "txid": txid,
        "hash": hash_to_hex(tx.wtxid) if tx.has_witness else txid,
        "version": tx.version,
        "size": len(raw),
        "vsize": (weight + 3) // 4,
        "weight": weight,
        "locktime": tx.lock_time,
    }
    shown = spent if prevouts and spent is not None else None
    if tx.is_coinbase:
        out["vin"] = [_coinbase_input(tx.inputs[0])]
    else:
        out["vin"] = [
            _input(txin, None if shown is None else shown[index], prefixes) for index, txin in enumerate(tx.inputs)
        ]
    out["vout"] = [
        {
            "value": amount_json(txout.value),
            "n": index,
            "scriptPubKey": script_pubkey_fragment(txout.script_pubkey, prefixes),
        }
        for index, txout in enumerate(tx.outputs)
    ]
    if spent is not None:
        fee = sum([coin.value for coin in spent]) - sum([txout.value for txout in tx.outputs])
        out["fee"] = amount_json(fee)
    if block_hash is not None:
        out["blockhash"] = hash_to_hex(block_hash)
    if include_hex:
        out["hex"] = raw.hex()
    return out


_NO_SCRIPT_SIG = orjson.Fragment(b'{"asm":"","hex":""}')
"""Most inputs have none: their signatures are in the witness."""


def _coinbase_input(txin: TxIn) -> dict[str, Any]:
    out: dict[str, Any] = {"coinbase": txin.script_sig.hex()}
    if txin.witness:
        out["txinwitness"] = [item.hex() for item in txin.witness]
    out["sequence"] = txin.sequence
    return out


def _input(txin: TxIn, coin: Coin | None, prefixes: AddressPrefixes) -> dict[str, Any]:
    prevout, script_sig = txin.prevout, txin.script_sig
    out: dict[str, Any] = {
        "txid": prevout[31::-1].hex(),
        "vout": int.from_bytes(prevout[32:], "little"),
        "scriptSig": script_sig_json(script_sig) if script_sig else _NO_SCRIPT_SIG,
    }
    if txin.witness:
        out["txinwitness"] = [item.hex() for item in txin.witness]
    if coin is not None:
        out["prevout"] = prevout_json(coin, script_pubkey_fragment(coin.script_pubkey, prefixes))
    out["sequence"] = txin.sequence
    return out


def prevout_json(coin: Coin, script_pubkey: orjson.Fragment) -> dict[str, Any]:
    """Return a spent output as `prevout` shows it."""
    return {
        "generated": coin.is_coinbase,
        "height": coin.height,
        "value": amount_json(coin.value),
        "scriptPubKey": script_pubkey,
    }
