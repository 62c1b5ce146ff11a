"""Context-free block checks: what can be decided from the block's bytes alone.

Owns: the numbered rules of `check_block_header` and `check_block`. Never: the chain's state, the clock, I/O, logging.
"""

from clarion.node.consensus.constants import MAX_BLOCK_SIGOPS_COST, MAX_BLOCK_WEIGHT, WITNESS_SCALE_FACTOR
from clarion.node.consensus.pow import check_proof_of_work
from clarion.node.consensus.signet import check_signet_block_solution
from clarion.node.consensus.sigops import block_legacy_sigops
from clarion.node.consensus.tx_check import check_transaction
from clarion.node.consensus.witness import check_merkle_root
from clarion.node.errors import BlockInvalid, TxInvalid
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import NULL_OUTPOINT, hash_to_hex


def check_block_header(header: BlockHeader, params: ChainParams) -> None:
    """Raise BlockInvalid if the header's hash does not meet its own target, or the target is none."""
    # 1. high-hash
    if not check_proof_of_work(header.hash, header.bits, params):
        raise BlockInvalid("high-hash", "proof of work failed")


def check_block(block: Block, params: ChainParams, *, check_pow: bool = True, check_merkle: bool = True) -> None:
    """Raise BlockInvalid with the reference's reject reason if the block breaks a context-free rule.

    The order of the checks is the reference's: which reason is given is visible to clients. Everything that could be
    a forgery of a valid block's bytes comes before anything that would condemn the block's hash; for that reason
    nothing here looks at witnesses, which `contextual_check_block` checks. Without `check_pow` a signet's solution
    isn't checked either.
    """
    # 1. high-hash
    if check_pow:
        check_block_header(block.header, params)
    # 2. bad-signet-blksig (BIP325)
    if check_pow and params.signet_challenge is not None and not check_signet_block_solution(block, params):
        raise BlockInvalid("bad-signet-blksig", "signet block signature validation failure")
    # 3. bad-txnmrklroot, bad-txns-duplicate
    if check_merkle:
        check_merkle_root(block)

    txs = block.txs
    # 4. bad-blk-length: the stripped size alone, weight needs the context of segwit's activation.
    if (
        not txs
        or len(txs) * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT
        or block.base_size * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT
    ):
        raise BlockInvalid("bad-blk-length", "size limits failed")
    # 5. bad-cb-missing
    if not txs[0].is_coinbase:
        raise BlockInvalid("bad-cb-missing", "first tx is not coinbase")
    # 6. bad-cb-multiple
    if NULL_OUTPOINT in [tx.inputs[0].prevout for tx in txs[1:] if len(tx.inputs) == 1]:
        raise BlockInvalid("bad-cb-multiple", "more than one coinbase")
    # 7. the reasons of check_transaction
    tx = txs[0]
    try:
        for tx in txs:
            if tx.notes is None:
                check_transaction(tx)
    except TxInvalid as error:
        debug = f"Transaction check failed (tx hash {hash_to_hex(tx.txid)}) {error.debug}"
        raise BlockInvalid(error.reject_reason, debug) from None
    # 8. bad-blk-sigops: too low a count, since P2SH and witnesses need the coins (`connect_block`).
    if sum(block_legacy_sigops(block)) * WITNESS_SCALE_FACTOR > MAX_BLOCK_SIGOPS_COST:
        raise BlockInvalid("bad-blk-sigops", "out-of-bounds SigOpCount")
