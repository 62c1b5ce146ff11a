"""The RPC method getchainstates: the active chain, and the one that is validated below a snapshot.

Owns: its answer. Never: the chains.
"""

from typing import Any

from clarion.api.rpc.chain_answers import TipPlace, chain_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.snapshot.background import BACKGROUND_CACHE_SHARE
from clarion.node.consensus.progress import guess_verification_progress
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.coin_store import CoinStore
from clarion.node.storage.snapshot_record import SnapshotState

_T = ResultType


@rpc_method(
    "getchainstates",
    category="blockchain",
    where=NODE,
    description="Returns the chainstates: one, or two while the history below a snapshot (see loadtxoutset) is validated.",
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "headers", "height of the best header"),
            Result(
                _T.ARR,
                "chainstates",
                "the chainstates, the active one last",
                (
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            Result(_T.NUM, "blocks", "height of its chain"),
                            Result(_T.STR_HEX, "bestblockhash", "hash of its tip"),
                            Result(_T.STR_HEX, "bits", "the tip's target in compact form"),
                            Result(_T.STR_HEX, "target", "the tip's target"),
                            Result(_T.NUM, "difficulty", "the tip's difficulty"),
                            Result(_T.NUM, "verificationprogress", "estimated share of the chain that is verified"),
                            Result(
                                _T.STR_HEX,
                                "snapshot_blockhash",
                                "block of the snapshot that it starts from, if it does",
                                optional=True,
                            ),
                            Result(_T.NUM, "coins_db_cache_bytes", "cache of the coins database"),
                            Result(_T.NUM, "coins_tip_cache_bytes", "cache of coins that are not flushed yet"),
                            Result(_T.BOOL, "validated", "whether every block behind it was validated"),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
def getchainstates(ctx: NodeContext) -> dict[str, Any]:
    """Return the chainstates, the active one last."""
    manager, stores = ctx.chain.manager, ctx.stores
    state = manager.state
    with state.lock:
        tip, validated, record = manager.tip, state.validated_tip, manager.snapshots.record
        best = state.best_header or tip
        found = []
        if validated is not None and stores.background is not None:
            found.append(_chainstate(ctx, validated, best, stores.background))
        found.append(_chainstate(ctx, tip, best, stores.coins))
    if record is not None:
        found[-1]["snapshot_blockhash"] = hash_to_hex(record.base)
        found[-1]["validated"] = record.state is SnapshotState.VALIDATED
    return {"headers": best.height, "chainstates": found}


def _chainstate(ctx: NodeContext, tip: BlockIndexEntry, best: BlockIndexEntry, store: CoinStore) -> dict[str, Any]:
    progress = guess_verification_progress(
        tip.chain_tx_count, tip.time, best.height - tip.height, ctx.clock.now(), ctx.params
    )
    place = TipPlace(tip.height, tip.hash, tip.bits, tip.time, tip.median_time_past(), tip.chainwork)
    chain = chain_json(ctx.params, place, best.height, progress, False, 0)
    members = ("blocks", "bestblockhash", "bits", "target", "difficulty", "verificationprogress")
    answer: dict[str, Any] = {name: chain[name] for name in members}
    limit = ctx.chain.manager.state.options.cache_bytes
    answer["coins_db_cache_bytes"] = store.cache_bytes
    answer["coins_tip_cache_bytes"] = limit if store is ctx.stores.coins else limit // BACKGROUND_CACHE_SHARE
    answer["validated"] = True
    return answer
