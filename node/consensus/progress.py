"""How far verification has come, as far as one can guess.

Owns: the estimate that `getblockchaininfo` and the log show. Never: the clock (the time is an argument).
"""

from clarion.node.params.chain_params import ChainParams

RECENT_S = 2 * 60 * 60


def guess_verification_progress(
    chain_tx_count: int, block_time: int, blocks_behind: int, now: int, params: ChainParams
) -> float:
    """Return the share of all transactions, 0.0 to 1.0, that the chain up to a block holds.

    `chain_tx_count` counts the transactions up to and including the block (0: unknown), `blocks_behind` is the height
    of the best header less the block's, `now` is in Unix seconds.
    """
    if chain_tx_count == 0:
        return 0.0
    data = params.tx_data
    if abs(now - block_time) <= RECENT_S and blocks_behind >= 0:
        # Close to the tip count blocks: miners' clocks are not exact, and clients like to see 1.0 there.
        block_time = now - blocks_behind * params.pow_target_spacing
    if chain_tx_count <= data.tx_count:
        total = data.tx_count + (now - data.time) * data.rate
    else:
        total = chain_tx_count + (now - block_time) * data.rate
    # A clock set far back can bring the estimate to nothing.
    return min(chain_tx_count / total, 1.0) if total else 1.0
