"""Mining at once, for test networks.

Owns: finding a nonce, and the steps of the generate calls. Never: what is in a block (miner), judging it (chain).
The search runs on the caller's thread, but for the most of many blocks where a nonce is found at once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from clarion.node.chain.outcome import BlockOutcome
from clarion.node.consensus.pow import check_proof_of_work
from clarion.node.errors import RpcError
from clarion.node.mining.miner import Miner
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction

DEFAULT_MAX_TRIES = 1_000_000
MAX_NONCE = 0xFFFFFFFF
STRETCH_BLOCKS = 16
"""Of many blocks so many are made in one job of the chain thread and committed together: a commit costs more than a block."""

_RPC_INTERNAL_ERROR = -32603


class Search(NamedTuple):
    """Result of looking for a nonce: `block` is None if none was found with the tries that were left."""

    block: Block | None
    tries_left: int


def generate_to_script(
    miner: Miner,
    script_pubkey: bytes,
    nblocks: int,
    max_tries: int = DEFAULT_MAX_TRIES,
) -> list[BlockHash]:
    """Mine up to `nblocks` blocks that pay to `script_pubkey` and return their hashes.

    `max_tries` is for all blocks together; fewer hashes come back when it is used up or the node stops. Raises
    RpcError as the reference words it if a block can't be made or is not accepted.
    """
    hashes: list[BlockHash] = []
    # Where the target never moves, it is so easy that the chain thread may search.
    while miner.params.no_retargeting and nblocks - len(hashes) > STRETCH_BLOCKS and max_tries and not miner.stopping():
        job = miner.chain.submit(_make_at_a_stretch, miner, script_pubkey, STRETCH_BLOCKS, max_tries)
        made, max_tries = job.result()
        hashes += made
    manager = miner.chain.manager
    made, _ = _make(
        miner,
        nblocks - len(hashes),
        max_tries,
        lambda: miner.create_template(script_pubkey).block,
        lambda block: miner.chain.submit(manager.process_new_block, block).result(),
    )
    return hashes + made


def _make_at_a_stretch(miner: Miner, script_pubkey: bytes, count: int, max_tries: int) -> tuple[list[BlockHash], int]:
    """Mine blocks on the chain thread, which it runs on; return their hashes and the tries that are left."""
    manager = miner.chain.manager
    with manager.at_a_stretch():
        return _make(
            miner,
            count,
            max_tries,
            lambda: miner.create_template_here(script_pubkey).block,
            manager.process_new_block,
        )


def _make(
    miner: Miner,
    count: int,
    max_tries: int,
    create: Callable[[], Block],
    process: Callable[[Block], BlockOutcome],
) -> tuple[list[BlockHash], int]:
    hashes: list[BlockHash] = []
    while len(hashes) < count and not miner.stopping():
        found, max_tries = find_nonce(create(), miner.params, max_tries, stopping=miner.stopping)
        if max_tries == 0 or miner.stopping():
            break
        if found is not None:
            _check(process(found))
            hashes.append(found.hash)
    return hashes, max_tries


def generate_block(
    miner: Miner,
    script_pubkey: bytes,
    txs: Sequence[Transaction],
    submit: bool = True,
) -> Block | None:
    """Mine one block of `txs`, in their order, whose fees nobody claims; None if no nonce was found.

    With `submit` it is processed too. Raises BlockInvalid if the block would break a rule, RpcError if it would do so
    even without `txs`: the reference fills a template that it has tested.
    """
    block = miner.create_block(script_pubkey, txs)
    found, tries_left = find_nonce(block, miner.params, DEFAULT_MAX_TRIES, stopping=miner.stopping)
    if found is None or tries_left == 0:
        return None
    if submit:
        _check(miner.chain.submit(miner.chain.manager.process_new_block, found).result())
    return found


def find_nonce(
    block: Block, params: ChainParams, max_tries: int, *, stopping: Callable[[], bool] = lambda: False
) -> Search:
    """Return the block with the first nonce whose hash meets its target. Gives up when the node is `stopping`."""
    header = block.header
    while max_tries > 0 and header.nonce < MAX_NONCE and not check_proof_of_work(header.hash, header.bits, params):
        if stopping():
            return Search(None, max_tries)
        header = BlockHeader(
            header.version, header.prev_hash, header.merkle_root, header.time, header.bits, header.nonce + 1
        )
        max_tries -= 1
    if max_tries == 0 or header.nonce == MAX_NONCE:
        return Search(None, max_tries)
    return Search(block if header is block.header else Block(header, block.txs), max_tries)


def _check(outcome: BlockOutcome) -> None:
    if not outcome.accepted:
        raise RpcError(_RPC_INTERNAL_ERROR, "ProcessNewBlock, block not accepted")
