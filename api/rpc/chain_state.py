"""RPC methods about the chain that only the live node can answer: getblockchaininfo, getchainstates, getchaintips.

Owns: their answers, read from memory under the chain lock and put together without it. Never: blocks' contents.
"""

import os
from pathlib import Path
from typing import Any

from clarion.api.render.numbers import number_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.pow import decode_compact, difficulty
from clarion.node.consensus.progress import guess_verification_progress
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage import block_status

_T = ResultType


def size_on_disk(blocks_dir: Path) -> int:
    """Return the bytes that block and undo files take."""
    with os.scandir(blocks_dir) as entries:
        return sum(
            entry.stat().st_size
            for entry in entries
            if entry.name.startswith(("blk", "rev")) and entry.name.endswith(".dat")
        )


@rpc_method(
    "getblockchaininfo",
    category="blockchain",
    where=NODE,
    description="Returns the state of the chain and of its validation.",
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "chain", "the network (main, test, testnet4, signet, regtest)"),
            Result(_T.NUM, "blocks", "height of the fully validated chain"),
            Result(_T.NUM, "headers", "height of the best header"),
            Result(_T.STR, "bestblockhash", "hash of the tip"),
            Result(_T.STR_HEX, "bits", "the tip's target in compact form"),
            Result(_T.STR_HEX, "target", "the tip's target"),
            Result(_T.NUM, "difficulty", "the tip's difficulty"),
            Result(_T.NUM_TIME, "time", "the tip's time in UNIX epoch time"),
            Result(_T.NUM_TIME, "mediantime", "median time of the tip and its ten ancestors"),
            Result(_T.NUM, "verificationprogress", "estimated share of the chain that is verified, 0 to 1"),
            Result(_T.BOOL, "initialblockdownload", "whether the node is still catching up"),
            Result(_T.STR_HEX, "chainwork", "expected number of hashes up to the tip, in hex"),
            Result(_T.NUM, "size_on_disk", "bytes of block and undo files"),
            Result(_T.BOOL, "pruned", "whether old blocks are removed"),
            Result(_T.NUM, "pruneheight", "height of the lowest block that is whole; with pruning", optional=True),
            Result(_T.BOOL, "automatic_pruning", "whether a size is kept to; with pruning", optional=True),
            Result(_T.NUM, "prune_target_size", "that size in bytes; with automatic pruning", optional=True),
            Result(_T.STR_HEX, "signet_challenge", "script that signet blocks must satisfy", optional=True),
            Result(_T.ARR, "warnings", "warnings about network and chain", (Result(_T.STR),)),
        ),
    ),
)
def getblockchaininfo(ctx: NodeContext) -> dict[str, Any]:
    """Return the state of the active chain."""
    state = ctx.chain.manager.state
    with state.lock:
        tip = ctx.chain.manager.tip
        best_header = state.best_header or tip
        initial_download = state.initial_download
        progress = guess_verification_progress(
            tip.chain_tx_count, tip.time, best_header.height - tip.height, ctx.clock.now(), ctx.params
        )
    answer: dict[str, Any] = {
        "chain": ctx.params.name,
        "blocks": tip.height,
        "headers": best_header.height,
        "bestblockhash": hash_to_hex(tip.hash),
        "bits": f"{tip.bits:08x}",
        "target": f"{decode_compact(tip.bits)[0]:064x}",
        "difficulty": number_json(difficulty(tip.bits)),
        "time": tip.time,
        "mediantime": tip.median_time_past(),
        "verificationprogress": number_json(progress),
        "initialblockdownload": initial_download,
        "chainwork": f"{tip.chainwork:064x}",
        "size_on_disk": size_on_disk(ctx.blocks_dir),
        "pruned": ctx.config.prune_mib > 0,
    }
    if ctx.config.prune_mib:
        pruned_to = ctx.pruner.prune_height(tip)
        answer["pruneheight"] = 0 if pruned_to is None else pruned_to + 1
        answer["automatic_pruning"] = ctx.config.prune_target_bytes > 0
        if ctx.config.prune_target_bytes:
            answer["prune_target_size"] = ctx.config.prune_target_bytes
    if ctx.params.signet_challenge is not None:
        answer["signet_challenge"] = ctx.params.signet_challenge.hex()
    answer["warnings"] = ctx.warnings_json()
    return answer


@rpc_method(
    "getchainstates",
    category="blockchain",
    where=NODE,
    description="Returns the chainstates. There is one, whose blocks are all validated.",
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
    """Return the only chainstate, as `getblockchaininfo` sees it."""
    chain = getblockchaininfo(ctx)
    members = ("blocks", "bestblockhash", "bits", "target", "difficulty", "verificationprogress")
    state: dict[str, Any] = {name: chain[name] for name in members}
    state["coins_db_cache_bytes"] = ctx.stores.coins.cache_bytes
    state["coins_tip_cache_bytes"] = ctx.chain.manager.state.options.cache_bytes
    state["validated"] = True
    return {"headers": chain["headers"], "chainstates": [state]}


def _tip_status(entry: BlockIndexEntry, active: bool) -> str:
    if active:
        return "active"
    if entry.failed:
        return "invalid"
    if entry.chain_tx_count == 0:
        return "headers-only"
    return "valid-fork" if entry.is_valid(block_status.VALID_SCRIPTS) else "valid-headers"


@rpc_method(
    "getchaintips",
    category="blockchain",
    where=NODE,
    description="Returns every tip of the block tree: the active chain's and those of stale branches.",
    results=Result(
        _T.ARR,
        "",
        "",
        (
            Result(
                _T.OBJ,
                "",
                "",
                (
                    Result(_T.NUM, "height", "height of the tip"),
                    Result(_T.STR_HEX, "hash", "hash of the tip"),
                    Result(_T.NUM, "branchlen", "blocks between the active chain and the tip, 0 for the active tip"),
                    Result(
                        _T.STR,
                        "status",
                        'what is known of the branch\n"invalid": it holds an invalid block\n'
                        '"headers-only": the headers are valid, blocks are missing\n'
                        '"valid-headers": all blocks are there, they were never fully validated\n'
                        '"valid-fork": fully validated, but not active\n"active": the tip of the active chain',
                    ),
                ),
            ),
        ),
    ),
)
def getchaintips(ctx: NodeContext) -> list[dict[str, Any]]:
    """Return all tips, the highest first."""
    state = ctx.chain.manager.state
    with state.lock:
        active = ctx.chain.manager.view
        tips = [entry for entry in state.index.leaves() if entry not in active]
        tips.append(active.tip)
        found = []
        for entry in tips:
            branch = entry.height - active.find_fork(entry).height
            found.append((entry.height, entry.hash, branch, _tip_status(entry, entry in active)))
    found.sort(key=lambda tip: (-tip[0], tip[1]))
    return [
        {"height": height, "hash": hash_to_hex(block_hash), "branchlen": branch, "status": status}
        for height, block_hash, branch, status in found
    ]
