"""Block checks that need the headers before it, but no coins.

Owns: the numbered rules of `contextual_check_block_header` and `contextual_check_block`. Never: coins, the clock
(the time is an argument), I/O, logging.
"""

from clarion.node.consensus.constants import MAX_BLOCK_WEIGHT, MAX_FUTURE_BLOCK_TIME, MAX_TIMEWARP
from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.pow import next_work_required
from clarion.node.consensus.tx_verify import is_final_tx
from clarion.node.consensus.witness import check_witness_malleation
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.script import push_number


def contextual_check_block_header(
    header: BlockHeader, prev: ChainPosition, params: ChainParams, adjusted_time: int
) -> None:
    """Raise BlockInvalid if the header can't follow `prev`. `adjusted_time` is the clock in Unix seconds."""
    height = prev.height + 1
    # 1. bad-diffbits
    if header.bits != next_work_required(prev, header.time, params):
        raise BlockInvalid("bad-diffbits", "incorrect proof of work")
    # 2. time-too-old
    if header.time <= prev.median_time_past():
        raise BlockInvalid("time-too-old", "block's timestamp is too early")
    # 3. time-timewarp-attack (BIP94)
    if params.enforce_bip94 and height % params.difficulty_interval == 0 and header.time < prev.time - MAX_TIMEWARP:
        raise BlockInvalid("time-timewarp-attack", "block's timestamp is too early on diff adjustment block")
    # 4. time-too-new
    if header.time > adjusted_time + MAX_FUTURE_BLOCK_TIME:
        raise BlockInvalid("time-too-new", "block timestamp too far in the future", time_future=True)
    # 5. bad-version (BIP34, BIP66, BIP65)
    version = header.version
    if (
        (version < 2 and height >= params.bip34_height)
        or (version < 3 and height >= params.bip66_height)
        or (version < 4 and height >= params.bip65_height)
    ):
        text = f"0x{version & 0xFFFFFFFF:08x}"
        raise BlockInvalid(f"bad-version({text})", f"rejected nVersion={text} block")


def contextual_check_block(block: Block, prev: ChainPosition | None, params: ChainParams) -> None:
    """Raise BlockInvalid if the block, which passed `check_block`, can't follow `prev` (None: it is genesis)."""
    height = 0 if prev is None else prev.height + 1
    # 1. bad-txns-nonfinal: measured by the parent's median time past since BIP113.
    if height >= params.csv_height and prev is not None:
        cutoff = prev.median_time_past()
    else:
        cutoff = block.header.time
    for tx in block.txs:
        if tx.lock_time and not is_final_tx(tx, height, cutoff):
            raise BlockInvalid("bad-txns-nonfinal", "non-final transaction")
    # 2. bad-cb-height (BIP34)
    if height >= params.bip34_height and not block.txs[0].inputs[0].script_sig.startswith(push_number(height)):
        raise BlockInvalid("bad-cb-height", "block height mismatch in coinbase")
    # 3. bad-witness-nonce-size, bad-witness-merkle-match, unexpected-witness (BIP141)
    check_witness_malleation(block, height >= params.segwit_height)
    # 4. bad-blk-weight: only now, since an unchecked coinbase witness could blow up a valid block.
    if block.weight > MAX_BLOCK_WEIGHT:
        raise BlockInvalid("bad-blk-weight", "ContextualCheckBlock : weight limit failed")
