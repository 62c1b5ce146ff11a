"""Mining at once, for test networks.

Owns: finding a nonce, and the steps of the generate calls. Never: what is in a block (template), judging it (chain).
A template is built, and a found block processed, on the chain thread; the search runs on the caller's.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.chain.clock import Clock
from clarion.node.chain.service import ChainService
from clarion.node.consensus.pow import check_proof_of_work
from clarion.node.errors import BlockInvalid, RpcError
from clarion.node.mining.template import build_block
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction

DEFAULT_MAX_TRIES = 1_000_000
MAX_NONCE = 0xFFFFFFFF

_RPC_MISC_ERROR = -1
_RPC_INTERNAL_ERROR = -32603


class Search(NamedTuple):
    """Result of looking for a nonce: `block` is None if none was found with the tries that were left."""

    block: Block | None
    tries_left: int


def generate_to_script(
    chain: ChainService,
    clock: Clock,
    script_pubkey: bytes,
    nblocks: int,
    max_tries: int = DEFAULT_MAX_TRIES,
    *,
    block_version: int | None = None,
) -> list[BlockHash]:
    """Mine up to `nblocks` blocks that pay to `script_pubkey` and return their hashes.

    `max_tries` is for all blocks together; fewer hashes come back when it is used up. Raises RpcError as the reference
    words it if a block can't be made or is not accepted.
    """
    params = chain.manager.state.params
    hashes: list[BlockHash] = []
    while len(hashes) < nblocks:
        block = _empty_block(chain, clock, script_pubkey, block_version)
        found, max_tries = find_nonce(block, params, max_tries)
        if max_tries == 0:
            break
        if found is not None:
            _process(chain, found)
            hashes.append(found.hash)
    return hashes


def generate_block(
    chain: ChainService,
    clock: Clock,
    script_pubkey: bytes,
    txs: Sequence[Transaction],
    submit: bool = True,
    *,
    block_version: int | None = None,
) -> Block | None:
    """Mine one block of `txs`, in their order, whose fees nobody claims; None if no nonce was found.

    With `submit` it is processed too. Raises BlockInvalid if the block would break a rule, RpcError if it would do so
    even without `txs`: the reference fills a template that it has tested.
    """
    _empty_block(chain, clock, script_pubkey, block_version)
    block = chain.submit(_new_block, chain, clock, script_pubkey, txs, block_version).result()
    found, tries_left = find_nonce(block, chain.manager.state.params, DEFAULT_MAX_TRIES)
    if found is None or tries_left == 0:
        return None
    if submit:
        _process(chain, found)
    return found


def find_nonce(block: Block, params: ChainParams, max_tries: int) -> Search:
    """Return the block with the first nonce whose hash meets its target."""
    header = block.header
    while max_tries > 0 and header.nonce < MAX_NONCE and not check_proof_of_work(header.hash, header.bits, params):
        header = BlockHeader(
            header.version, header.prev_hash, header.merkle_root, header.time, header.bits, header.nonce + 1
        )
        max_tries -= 1
    if max_tries == 0 or header.nonce == MAX_NONCE:
        return Search(None, max_tries)
    return Search(block if header is block.header else Block(header, block.txs), max_tries)


def _empty_block(chain: ChainService, clock: Clock, script_pubkey: bytes, version: int | None) -> Block:
    try:
        return chain.submit(_new_block, chain, clock, script_pubkey, (), version).result()
    except BlockInvalid as invalid:
        raise RpcError(_RPC_MISC_ERROR, f"TestBlockValidity failed: {invalid}") from None


def _new_block(
    chain: ChainService, clock: Clock, script_pubkey: bytes, txs: Sequence[Transaction], version: int | None
) -> Block:
    """Build a block on the tip and check all of it but its proof of work. Runs on the chain thread."""
    manager = chain.manager
    block = build_block(manager.settled_tip(), manager.state.params, clock.now(), script_pubkey, txs, version=version)
    # A template holds what the caller says, in his order: the reference leaves its merkle root unchecked here.
    manager.dry_run(block, check_merkle=False)
    return block


def _process(chain: ChainService, block: Block) -> None:
    if not chain.submit(chain.manager.process_new_block, block).result().accepted:
        raise RpcError(_RPC_INTERNAL_ERROR, "ProcessNewBlock, block not accepted")
