"""REST's `getutxos`: which outputs are unspent (BIP64), asked for in the path or in the body.

Owns: how it is asked, its statuses, texts and forms. Never: finding outputs (see `rpc.unspent`).
"""

import struct
from collections.abc import Sequence

import orjson

from clarion.api.render.numbers import amount_json
from clarion.api.render.script import script_pubkey_fragment
from clarion.api.rest.request import (
    FORMATS,
    RestAnswer,
    RestError,
    RestRequest,
    bin_answer,
    format_error,
    hex_answer,
    json_answer,
)
from clarion.api.rest.route import RestPath, RestRoute, always
from clarion.api.rpc.block_results import SCRIPT_PUBKEY_FIELDS
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.parse import UINT32, is_hex, unhex
from clarion.api.rpc.spec import Result, ResultType
from clarion.api.rpc.unspent import ask_unspent
from clarion.node.errors import DecodeError
from clarion.node.primitives.address import AddressPrefixes
from clarion.node.primitives.codec import compact_size, read_compact_size, var_bytes
from clarion.node.primitives.coin import Coin, encode_outputs
from clarion.node.primitives.ids import BlockHash, OutPoint, hash_to_hex, make_outpoint

MAX_OUTPOINTS = 15
_OUTPOINT_SIZE = 36
_TX_VERSION_AND_HEIGHT = struct.Struct("<II")
"""What stands before each output; the version has been 0 since coins forgot theirs."""


def utxos(ctx: ReaderContext, request: RestRequest) -> RestAnswer:
    """Answer /rest/getutxos/[checkmempool/]<txid>-<n>/…, or the same question in the body."""
    with_mempool, outpoints = _question(request)
    if len(outpoints) > MAX_OUTPOINTS:
        raise RestError(400, f"Error: max outpoints exceeded (max: {MAX_OUTPOINTS}, tried: {len(outpoints)})")
    height, tip, coins = ask_unspent(ctx, outpoints, with_mempool=with_mempool)
    if request.format == "json":
        return json_answer(_json(ctx, height, tip, coins))
    data = _bytes(height, tip, coins)
    return bin_answer(data) if request.format == "bin" else hex_answer(data)


def _question(request: RestRequest) -> tuple[bool, list[OutPoint]]:
    parts = request.param[1:].split("/") if len(request.param) > 1 else []
    if not parts and not request.body:
        raise RestError(400, "Error: empty request")
    with_mempool = parts[:1] == ["checkmempool"]
    outpoints = [_parse_outpoint(part) for part in parts[with_mempool:]]
    if parts and not outpoints:
        raise RestError(400, "Error: empty request")
    if request.format not in FORMATS:
        raise format_error()
    if request.format == "json":
        if not outpoints:
            raise RestError(400, "Error: empty request")
        return with_mempool, outpoints
    body = request.body
    if request.format == "hex":
        body = unhex(body.decode("latin-1").strip()) or b""
    if not body:
        return with_mempool, outpoints
    if outpoints:
        raise RestError(400, "Combination of URI scheme inputs and raw post data is not allowed")
    return _parse_body(body)


def _parse_outpoint(text: str) -> OutPoint:
    txid, dash, index = text.partition("-")
    number = int(index) if index.isascii() and index.isdigit() and len(index) < 40 else -1
    if not dash or len(txid) != 64 or not is_hex(txid) or not 0 <= number <= UINT32[1]:
        raise RestError(400, "Parse error")
    return make_outpoint(bytes.fromhex(txid)[::-1], number)


def _parse_body(body: bytes) -> tuple[bool, list[OutPoint]]:
    """Read one byte for `checkmempool` and a vector of outpoints; what follows is ignored."""
    try:
        count, at = read_compact_size(body, 1)
    except DecodeError:
        raise RestError(400, "Parse error") from None
    end = at + count * _OUTPOINT_SIZE
    if end > len(body):
        raise RestError(400, "Parse error")
    return bool(body[0]), [OutPoint(body[begin : begin + _OUTPOINT_SIZE]) for begin in range(at, end, _OUTPOINT_SIZE)]


def _bytes(height: int, tip: BlockHash, coins: Sequence[Coin | None]) -> bytes:
    bitmap = bytearray((len(coins) + 7) // 8)
    for number, coin in enumerate(coins):
        bitmap[number // 8] |= (coin is not None) << (number % 8)
    found = [coin for coin in coins if coin is not None]
    outputs = [_TX_VERSION_AND_HEIGHT.pack(0, coin.height) + encode_outputs([coin]) for coin in found]
    return b"".join((height.to_bytes(4, "little"), tip, var_bytes(bytes(bitmap)), compact_size(len(found)), *outputs))


def _json(ctx: ReaderContext, height: int, tip: BlockHash, coins: Sequence[Coin | None]) -> bytes:
    prefixes = AddressPrefixes.of(ctx.params)
    return orjson.dumps(
        {
            "chainHeight": height,
            "chaintipHash": hash_to_hex(tip),
            "bitmap": "".join("0" if coin is None else "1" for coin in coins),
            "utxos": [
                {
                    "height": coin.height,
                    "value": amount_json(coin.value),
                    "scriptPubKey": script_pubkey_fragment(coin.script_pubkey, prefixes),
                }
                for coin in coins
                if coin is not None
            ],
        }
    )


_T = ResultType

_UTXO = (
    Result(_T.NUM, "height", "height of its block"),
    Result(_T.STR_AMOUNT, "value", "value in BTC"),
    Result(_T.OBJ, "scriptPubKey", "the script", SCRIPT_PUBKEY_FIELDS),
)

_ANSWER = Result(
    _T.OBJ,
    inner=(
        Result(_T.NUM, "chainHeight", "height of the tip"),
        Result(_T.STR_HEX, "chaintipHash", "hash of the tip"),
        Result(_T.STR, "bitmap", "1 for each that is unspent"),
        Result(_T.ARR, "utxos", "the unspent ones", (Result(_T.OBJ, inner=_UTXO),)),
    ),
)

ROUTES = (
    RestRoute(
        "/rest/getutxos",
        utxos,
        always,
        has_body=True,
        paths=(
            RestPath("/rest/getutxos/{outpoints}", "Which outputs are unspent", json=(_ANSWER,)),
            RestPath("/rest/getutxos/checkmempool/{outpoints}", "The same, the mempool counted", json=(_ANSWER,)),
        ),
    ),
)
