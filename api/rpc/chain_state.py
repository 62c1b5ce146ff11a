"""RPC methods about the chain that the live node answers: getblockchaininfo, getchaintips.

Owns: what they read from memory under the chain lock. Never: blocks' contents, how it is shown (`chain_answers`).
"""

from typing import Any

from clarion.api.render.numbers import number_json
from clarion.api.rpc.chain_answers import (
    ChainTip,
    TipPlace,
    chain_json,
    finish_chain_json,
    size_on_disk,
    tip_status,
    tips_json,
)
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Result, ResultType
from clarion.node.consensus.progress import guess_verification_progress
from clarion.node.primitives.ids import hash_to_hex

_T = ResultType


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
            Result(
                _T.OBJ,
                "backgroundvalidation",
                "how far the history below a snapshot is validated; while it is",
                (
                    Result(_T.NUM, "snapshotheight", "height of the snapshot's block"),
                    Result(_T.NUM, "blocks", "height of the chain that is validated"),
                    Result(_T.STR, "bestblockhash", "hash of its tip"),
                    Result(_T.NUM_TIME, "mediantime", "median time of its tip and the ten ancestors"),
                    Result(_T.NUM, "verificationprogress", "estimated share of the history, 0 to 1"),
                    Result(_T.STR_HEX, "chainwork", "expected number of hashes up to its tip, in hex"),
                ),
                optional=True,
            ),
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
    place = TipPlace(tip.height, tip.hash, tip.bits, tip.time, tip.median_time_past(), tip.chainwork)
    answer = chain_json(ctx.params, place, best_header.height, progress, initial_download, size_on_disk(ctx.blocks_dir))
    background = _background_json(ctx)
    if background is not None:
        answer["backgroundvalidation"] = background
    answer["pruned"] = ctx.config.prune_mib > 0
    if ctx.config.prune_mib:
        pruned_to = ctx.pruner.prune_height(tip)
        answer["pruneheight"] = 0 if pruned_to is None else pruned_to + 1
        answer["automatic_pruning"] = ctx.config.prune_target_bytes > 0
        if ctx.config.prune_target_bytes:
            answer["prune_target_size"] = ctx.config.prune_target_bytes
    return finish_chain_json(answer, ctx.params, ctx.warnings_json())


def _background_json(ctx: NodeContext) -> dict[str, Any] | None:
    """Return how far the history below a snapshot is validated, None without such a snapshot."""
    state = ctx.chain.manager.state
    with state.lock:
        base, tip = state.snapshot_base, state.validated_tip
        if base is None or tip is None:
            return None
        return {
            "snapshotheight": base.height,
            "blocks": tip.height,
            "bestblockhash": hash_to_hex(tip.hash),
            "mediantime": tip.median_time_past(),
            "verificationprogress": number_json(tip.chain_tx_count / base.chain_tx_count),
            "chainwork": f"{tip.chainwork:064x}",
        }


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
            status = tip_status(entry.status, entry.chain_tx_count, active=entry in active)
            found.append(ChainTip(entry.height, entry.hash, branch, status))
    return tips_json(found)
