"""The answers about the chain as a whole, whether a node gives them from memory or a reader from the database.

Owns: the members of getblockchaininfo, getchaintips and getindexinfo. Never: finding the values.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from clarion.api.render.numbers import number_json
from clarion.node.consensus.pow import decode_compact, difficulty
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage import block_status


class TipPlace(NamedTuple):
    """The tip of the active chain; `time` and `median_time` in Unix seconds."""

    height: int
    hash: bytes
    bits: int
    time: int
    median_time: int
    chainwork: int


class ChainTip(NamedTuple):
    """The tip of any branch, with the blocks between it and the active chain."""

    height: int
    hash: bytes
    branch: int
    status: str


def size_on_disk(blocks_dir: Path) -> int:
    """Return the bytes that block and undo files take."""
    with os.scandir(blocks_dir) as entries:
        return sum(
            entry.stat().st_size
            for entry in entries
            if entry.name.startswith(("blk", "rev")) and entry.name.endswith(".dat")
        )


def chain_json(
    params: ChainParams, tip: TipPlace, headers: int, progress: float, initial_download: bool, disk_bytes: int
) -> dict[str, Any]:
    """Return what `getblockchaininfo` shows before it comes to pruning; only orjson can encode the result."""
    return {
        "chain": params.name,
        "blocks": tip.height,
        "headers": headers,
        "bestblockhash": hash_to_hex(tip.hash),
        "bits": f"{tip.bits:08x}",
        "target": f"{decode_compact(tip.bits)[0]:064x}",
        "difficulty": number_json(difficulty(tip.bits)),
        "time": tip.time,
        "mediantime": tip.median_time,
        "verificationprogress": number_json(progress),
        "initialblockdownload": initial_download,
        "chainwork": f"{tip.chainwork:064x}",
        "size_on_disk": disk_bytes,
    }


def finish_chain_json(answer: dict[str, Any], params: ChainParams, warnings: list[str] | str) -> dict[str, Any]:
    """Return the answer of `getblockchaininfo` with what comes behind pruning."""
    if params.signet_challenge is not None:
        answer["signet_challenge"] = params.signet_challenge.hex()
    answer["warnings"] = warnings
    return answer


def tip_status(status: int, chain_tx_count: int, *, active: bool = False, failed: bool = False) -> str:
    """Return what `getchaintips` says of a tip with these status bits; `failed`: an ancestor is invalid."""
    if active:
        return "active"
    if failed or status & block_status.FAILED_MASK:
        return "invalid"
    if not chain_tx_count:
        return "headers-only"
    return "valid-fork" if block_status.is_valid(status, block_status.VALID_SCRIPTS) else "valid-headers"


def tips_json(tips: Iterable[ChainTip]) -> list[dict[str, Any]]:
    """Return the answer of `getchaintips`, the highest first."""
    return [
        {"height": tip.height, "hash": hash_to_hex(tip.hash), "branchlen": tip.branch, "status": tip.status}
        for tip in sorted(tips, key=lambda tip: (-tip.height, tip.hash))
    ]


def index_json(synced: bool, height: int) -> dict[str, Any]:
    """Return what `getindexinfo` says of one index; `height` is -1 for an empty one."""
    return {"synced": synced, "best_block_height": max(height, 0)}
