"""scantxoutset: unspent outputs that descriptors match.

Owns: the scan over the flushed set, its progress and its abort. Never: parsing descriptors.
"""

from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.api.rpc.context import ReaderContext, ScanStates
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.outputs import scripts_of_scan_object
from clarion.api.rpc.parse import type_mismatch
from clarion.api.rpc.registry import NODE, READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash, OutPoint, hash_to_hex, outpoint_index, outpoint_txid
from clarion.node.storage.coin_store import CoinSnapshot

_T = ResultType
REPORT_EVERY = 8192
SCAN_OBJECTS = (
    Arg("descriptor", ArgType.STR, "An output descriptor"),
    Arg(
        "",
        ArgType.OBJ,
        "A descriptor with a range",
        inner=(
            Arg("desc", ArgType.STR, "An output descriptor", required=True),
            Arg("range", ArgType.RANGE, "Indexes to derive, the end or [begin,end]", default=1000),
        ),
    ),
)

SCAN_ARGS = (
    Arg(
        "action",
        ArgType.STR,
        '"start" to scan, "abort" to give up the running scan, "status" for its progress in %',
        required=True,
    ),
    Arg(
        "scanobjects",
        ArgType.ARR,
        'What to look for; required for "start". Each is a descriptor or an object:',
        inner=SCAN_OBJECTS,
        oneline="[scanobjects,...]",
    ),
)
"""What every scan begins with: what is to be done, and what is looked for."""
"""What a list of things to look for may hold."""

_EXAMPLE = "raw(76a91411b366edfc0a8b66feebae5c2e25a7b6a5d1cf3188ac)#fm24fxxy"


@rpc_method(
    "_scan",
    category="hidden",
    where=NODE,
    internal=True,
    description="Keeps the state of the one scan that may run.",
)
def scan_state(ctx: ScanStates, action: str, progress: int = 0) -> Any:
    """Begin, report on, end, ask about or abort the scan."""
    if action == "begin":
        return ctx.scan.begin()
    if action == "report":
        return ctx.scan.report(progress)
    if action == "end":
        return ctx.scan.end()
    return ctx.scan.abort() if action == "abort" else ctx.scan.status()


@rpc_method(
    "scantxoutset",
    category="blockchain",
    where=READER,
    heavy=True,
    description="Searches the unspent outputs for those that descriptors match, such as\n"
    "    addr(<address>)      outputs that pay to an address\n"
    "    raw(<hex script>)    outputs with exactly this script\n"
    "    combo(<pubkey>)      P2PK, P2PKH, P2WPKH and P2SH-P2WPKH outputs of a key",
    args=SCAN_ARGS,
    results=[
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(_T.BOOL, "success", "whether the scan came to its end"),
                Result(_T.NUM, "txouts", "number of outputs looked at"),
                Result(_T.NUM, "height", "height of the block at which the scan was made"),
                Result(_T.STR_HEX, "bestblock", "its hash"),
                Result(
                    _T.ARR,
                    "unspents",
                    "what was found",
                    (
                        Result(
                            _T.OBJ,
                            "",
                            "",
                            (
                                Result(_T.STR_HEX, "txid", "the transaction"),
                                Result(_T.NUM, "vout", "number of the output"),
                                Result(_T.STR_HEX, "scriptPubKey", "its script"),
                                Result(_T.STR, "desc", "descriptor of the script"),
                                Result(_T.STR_AMOUNT, "amount", "value in BTC"),
                                Result(_T.BOOL, "coinbase", "whether a coinbase made it"),
                                Result(_T.NUM, "height", "height of the block that made it"),
                                Result(_T.STR_HEX, "blockhash", "hash of that block"),
                                Result(_T.NUM, "confirmations", "confirmations at the time of the scan"),
                            ),
                        ),
                    ),
                ),
                Result(_T.STR_AMOUNT, "total_amount", "sum of the values in BTC"),
            ),
            condition="when action=='start'; only returns after scan completes",
        ),
        Result(_T.BOOL, "success", "whether there was a scan to abort", condition="when action=='abort'"),
        Result(
            _T.OBJ,
            "",
            "",
            (Result(_T.NUM, "progress", "percentage done"),),
            condition="when action=='status' and a scan runs",
        ),
        Result(_T.NONE, condition="when action=='status' and no scan runs"),
    ],
    examples=((f"start '[\"{_EXAMPLE}\"]'", f'"start", ["{_EXAMPLE}"]'), ("status", '"status"'), ("abort", '"abort"')),
)
def scantxoutset(ctx: ReaderContext, action: str, scanobjects: list[Any] | None) -> Any:
    """Start, abort or ask about a scan. Raises RpcError -8 while another runs."""
    if action == "status":
        progress = ctx.node.call_blocking("_scan", ["status"])
        return None if progress is None else {"progress": progress}
    if action == "abort":
        return ctx.node.call_blocking("_scan", ["abort"])
    if action != "start":
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid action '{action}'")
    if not ctx.node.call_blocking("_scan", ["begin"]):
        raise RpcError(RpcCode.INVALID_PARAMETER, 'Scan already in progress, use action "abort" or "status"')
    try:
        return _start(ctx, scanobjects)
    finally:
        ctx.node.call_blocking("_scan", ["end"])


def _start(ctx: ReaderContext, scanobjects: list[Any] | None) -> dict[str, Any]:
    if scanobjects is None:
        raise RpcError(RpcCode.MISC_ERROR, "scanobjects argument is required for the start action")
    if not isinstance(scanobjects, list):
        raise type_mismatch(scanobjects, "array")
    wanted: dict[bytes, str] = {}
    for scanobject in scanobjects:
        wanted.update(scripts_of_scan_object(scanobject, ctx.params))
    ctx.node.call_blocking("_flush", [])
    with ctx.reader.coins() as coins:
        tip = coins.tip()
        assert tip is not None, "the set was flushed"
        complete, count, found = _search(ctx, coins, wanted)
    with ctx.reader.snapshot() as snapshot:
        row = snapshot.block(tip)
        assert row is not None, "the coins' tip is in the block index"
        # The chain may have turned since the coins were read: what they stand at decides.
        stale = snapshot.stale_part(row)

        def hash_at(height: int) -> BlockHash | None:
            return stale[height].hash if height in stale else snapshot.hash_at(height)

        return {
            "success": complete,
            "txouts": count,
            "height": row.height,
            "bestblock": hash_to_hex(tip),
            "unspents": [
                _unspent(hash_at(coin.height), outpoint, coin, wanted[coin.script_pubkey], row.height)
                for outpoint, coin in found
            ],
            "total_amount": amount_json(sum(coin.value for _, coin in found)),
        }


def _search(
    ctx: ReaderContext, coins: CoinSnapshot, wanted: dict[bytes, str]
) -> tuple[bool, int, list[tuple[OutPoint, Coin]]]:
    """Return whether the scan came to its end, how many coins it saw, and those whose script is wanted."""
    found: list[tuple[OutPoint, Coin]] = []
    count = 0
    for outpoint, coin in coins.iterate():
        count += 1
        if count % REPORT_EVERY == 0:
            # The set is ordered by txid, so its first two bytes tell how far the scan is.
            progress = int.from_bytes(outpoint[:2], "big") * 100 // 65536
            if ctx.node.call_blocking("_scan", ["report", progress]):
                return False, count, found
        if coin.script_pubkey in wanted:
            found.append((outpoint, coin))
    return True, count, found


def _unspent(
    block_hash: BlockHash | None, outpoint: OutPoint, coin: Coin, desc: str, tip_height: int
) -> dict[str, Any]:
    return {
        "txid": hash_to_hex(outpoint_txid(outpoint)),
        "vout": outpoint_index(outpoint),
        "scriptPubKey": coin.script_pubkey.hex(),
        "desc": desc,
        "amount": amount_json(coin.value),
        "coinbase": coin.is_coinbase,
        "height": coin.height,
        "blockhash": hash_to_hex(block_hash) if block_hash is not None else "",
        "confirmations": tip_height - coin.height + 1,
    }
