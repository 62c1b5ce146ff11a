"""Whether a block's scripts must be checked (`-assumevalid`).

Owns: the reference's conditions under which scripts below the assumed-valid block are skipped. Never: running them.
"""

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.chain.state import ChainState
from clarion.node.consensus.pow import block_proof_equivalent_time

TWO_WEEKS_S = 14 * 24 * 60 * 60


def script_check_reason(state: ChainState, entry: BlockIndexEntry) -> str | None:
    """Return why the scripts of `entry` must be checked, None if they may be skipped.

    Skipping is safe only deep below a well-known block that the best header chain contains: the two weeks keep a miner
    from making nodes that follow him accept an invalid block.
    """
    assume_valid = state.options.assume_valid
    best = state.best_header
    if assume_valid is None:
        return "assumevalid=0 (always verify)"
    assumed = state.index.get(assume_valid)
    if assumed is None:
        return "assumevalid hash not in headers"
    if assumed.ancestor(entry.height) is not entry:
        above = entry.height > assumed.height
        return "block height above assumevalid height" if above else "block not in assumevalid chain"
    if best is None or best.ancestor(entry.height) is not entry:
        return "block not in best header chain"
    if best.chainwork < state.options.minimum_chainwork:
        return "best header chainwork below minimumchainwork"
    if block_proof_equivalent_time(best.chainwork, entry.chainwork, best.bits, state.params) <= TWO_WEEKS_S:
        return "block too recent relative to best header"
    return None
