"""The commitment to witnesses (BIP141) and the forgeries that a block's hash does not show.

Owns: finding, computing and checking the commitment, and the check of the merkle root. Never: other rules.
All errors here say `mutated`: another peer may still send the true block of the same hash.
"""

from clarion.node.consensus.constants import MINIMUM_WITNESS_COMMITMENT
from clarion.node.errors import BlockInvalid
from clarion.node.primitives.block import Block
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import NULL_HASH
from clarion.node.primitives.merkle import merkle_root

COMMITMENT_HEADER = bytes.fromhex("6a24aa21a9ed")
"""OP_RETURN, a push of 36 bytes, and the four that mark a commitment."""


def check_merkle_root(block: Block) -> None:
    """Raise BlockInvalid unless the header commits to exactly these transactions."""
    root, mutated = merkle_root([tx.txid for tx in block.txs])
    # 1. bad-txnmrklroot
    if root != block.header.merkle_root:
        raise BlockInvalid("bad-txnmrklroot", "hashMerkleRoot mismatch", mutated=True)
    # 2. bad-txns-duplicate (CVE-2012-2459)
    if mutated:
        raise BlockInvalid("bad-txns-duplicate", "duplicate transaction", mutated=True)


def witness_commitment_index(block: Block) -> int | None:
    """Return which output of the coinbase commits to the witnesses, the last where several do; None without one."""
    if not block.txs:
        return None
    found = None
    for index, txout in enumerate(block.txs[0].outputs):
        script = txout.script_pubkey
        if len(script) >= MINIMUM_WITNESS_COMMITMENT and script.startswith(COMMITMENT_HEADER):
            found = index
    return found


def witness_merkle_root(block: Block) -> bytes:
    """Return the root over all wtxids, with zero bytes in the place of the coinbase's."""
    return merkle_root([NULL_HASH, *[tx.wtxid for tx in block.txs[1:]]])[0]


def witness_commitment(block: Block, reserved_value: bytes) -> bytes:
    """Return the 32 bytes that the coinbase must commit to, given the 32 of its witness."""
    return sha256d(witness_merkle_root(block) + reserved_value)


def check_witness_malleation(block: Block, expect_commitment: bool) -> None:
    """Raise BlockInvalid unless the commitment matches the witnesses, or there is neither.

    With `expect_commitment` (segwit is active) the block must have a coinbase with an input.
    """
    if expect_commitment:
        index = witness_commitment_index(block)
        if index is not None:
            coinbase = block.txs[0]
            stack = coinbase.inputs[0].witness
            # 1. bad-witness-nonce-size
            if len(stack) != 1 or len(stack[0]) != 32:
                debug = "CheckWitnessMalleation : invalid witness reserved value size"
                raise BlockInvalid("bad-witness-nonce-size", debug, mutated=True)
            # 2. bad-witness-merkle-match. Duplicated hashes need no look: the tree of txids excludes them.
            start = len(COMMITMENT_HEADER)
            committed = coinbase.outputs[index].script_pubkey[start : start + 32]
            if witness_commitment(block, stack[0]) != committed:
                debug = "CheckWitnessMalleation : witness merkle commitment mismatch"
                raise BlockInvalid("bad-witness-merkle-match", debug, mutated=True)
            return
    # 3. unexpected-witness: nothing commits to it, so it could be anything.
    if any(tx.has_witness for tx in block.txs):
        debug = "CheckWitnessMalleation : unexpected witness data found"
        raise BlockInvalid("unexpected-witness", debug, mutated=True)


def find_mutation(block: Block, check_witness_root: bool) -> BlockInvalid | None:
    """Return why the transactions are not those that the header's hash stands for, None if they are, as far as can be told.

    Cheap and without context: a block that this lets pass may still be invalid.
    """
    try:
        check_merkle_root(block)
        if not block.txs or not block.txs[0].is_coinbase:
            # A transaction of 64 bytes can pose as an inner node of the merkle tree. Without a coinbase the block is
            # invalid anyway, so this adds no rule.
            if any(tx.base_size == 64 for tx in block.txs):
                return BlockInvalid("bad-txns-64-bytes", "a transaction can pose as an inner node", mutated=True)
            return None
        check_witness_malleation(block, check_witness_root)
    except BlockInvalid as invalid:
        return invalid
    return None
