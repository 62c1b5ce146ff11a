"""What a reader without a node knows of the chain as a whole, from one snapshot of the database and the block files.

Owns: reading it. Never: what only the node's memory knows (warnings, whether it prunes by itself), the answers' shape.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from clarion.api.rpc.chain_answers import (
    ChainTip,
    TipPlace,
    chain_json,
    finish_chain_json,
    index_json,
    size_on_disk,
    tip_status,
    tips_json,
)
from clarion.node.consensus.progress import guess_verification_progress
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.block_status import FAILED_MASK, HAVE_MASK
from clarion.node.storage.chain_reader import ChainReader, ChainSnapshot
from clarion.node.storage.index_store import IndexSnapshot
from clarion.node.storage.rows import BlockRow


def chain_info(reader: ChainReader, params: ChainParams) -> dict[str, Any]:
    """Return the answer of `getblockchaininfo`.

    Whether the node is in initial download follows from the tip's work and age: what it remembers is not stored.
    """
    with reader.snapshot() as snapshot:
        tip = _tip(snapshot)
        median = snapshot.median_time_past(tip)
        headers = _best_header(tip, snapshot.stale_rows()).height
        pruned_to = snapshot.highest_without(HAVE_MASK)
    now = int(time.time())
    place = TipPlace(tip.height, tip.hash, int.from_bytes(tip.header[72:76], "little"), tip.time, median, tip.chainwork)
    progress = guess_verification_progress(tip.chain_tx_count, tip.time, headers - tip.height, now, params)
    behind = tip.chainwork < params.minimum_chainwork or tip.time < now - params.max_tip_age
    answer = chain_json(params, place, headers, progress, behind, _bytes_in(reader.block_files.path(0).parent))
    answer["pruned"] = pruned_to is not None
    if pruned_to is not None:
        answer["pruneheight"] = pruned_to + 1
    return finish_chain_json(answer, params, [])


def _tip(snapshot: ChainSnapshot) -> BlockRow:
    tip = snapshot.tip()
    assert tip is not None, "a reader does not start on an empty chain"
    return tip


def _bytes_in(folder: Path) -> int:
    # A reader need not have the block files.
    return size_on_disk(folder) if folder.is_dir() else 0


def _best_header(tip: BlockRow, stale: Iterable[BlockRow]) -> BlockRow:
    failed = _failed(stale)
    best = tip
    for row in stale:
        if row.hash not in failed and row.chainwork > best.chainwork:
            best = row
    return best


def _failed(stale: Iterable[BlockRow]) -> set[bytes]:
    """Return the hashes of those that are invalid or build on such; `stale` is by height."""
    failed: set[bytes] = set()
    for row in stale:
        if row.status & FAILED_MASK or row.prev_hash in failed:
            failed.add(row.hash)
    return failed


def chain_tips(reader: ChainReader) -> list[dict[str, Any]]:
    """Return the answer of `getchaintips`."""
    with reader.snapshot() as snapshot:
        tip = _tip(snapshot)
        stale = snapshot.stale_rows()
    failed = _failed(stale)
    fork_heights: dict[bytes, int] = {}
    for row in stale:
        fork_heights[row.hash] = fork_heights.get(row.prev_hash, row.height - 1)
    parents = {row.prev_hash for row in stale}
    tips = [ChainTip(tip.height, tip.hash, 0, tip_status(tip.status, tip.chain_tx_count, active=True))]
    for row in stale:
        if row.hash not in parents:
            status = tip_status(row.status, row.chain_tx_count, failed=row.hash in failed)
            tips.append(ChainTip(row.height, row.hash, row.height - fork_heights[row.hash], status))
    return tips_json(tips)


def index_info(
    reader: ChainReader,
    names: Iterable[str],
    open_index: Callable[[str], AbstractContextManager[IndexSnapshot]],
    wanted: str | None,
) -> dict[str, Any]:
    """Return the answer of `getindexinfo` about the indexes that the reader was told of."""
    answer = {}
    for name in sorted(names):
        if wanted not in (None, "", name):
            continue
        with open_index(name) as view:
            reached = view.tip()
        with reader.snapshot() as snapshot:
            tip = _tip(snapshot)
        answer[name] = index_json(
            reached is not None and reached.hash == tip.hash, -1 if reached is None else reached.height
        )
    return answer
