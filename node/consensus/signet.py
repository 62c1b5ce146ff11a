"""The block solution of signets (BIP325).

Owns: the two virtual transactions that carry challenge and solution, and their check. Never: proof of work.
"""

from clarion.node.consensus.witness import witness_commitment_index
from clarion.node.errors import DecodeError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import Block
from clarion.node.primitives.codec import read_compact_size, read_var_bytes
from clarion.node.primitives.ids import NULL_OUTPOINT, make_outpoint
from clarion.node.primitives.merkle import merkle_root
from clarion.node.primitives.opcodes import OP_0, OP_RETURN
from clarion.node.primitives.script import iter_ops, push_data
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.node.script.flags import (
    SCRIPT_VERIFY_DERSIG,
    SCRIPT_VERIFY_NULLDUMMY,
    SCRIPT_VERIFY_P2SH,
    SCRIPT_VERIFY_WITNESS,
)
from clarion.node.script.sighash import PrecomputedTxData
from clarion.node.script.verify import verify_input

SIGNET_HEADER = bytes.fromhex("ecc7daa2")
"""The four bytes in front of the solution."""

SOLUTION_FLAGS = SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS | SCRIPT_VERIFY_DERSIG | SCRIPT_VERIFY_NULLDUMMY


def take_solution(script: bytes) -> tuple[bytes | None, bytes]:
    """Return (solution, the script without it) of the output that commits to witnesses; None where there is none.

    The solution is the first push that begins with SIGNET_HEADER and has more; only the header stays behind.
    """
    solution = None
    rest = bytearray()
    for opcode, data, _ in iter_ops(script):
        if not data:
            rest.append(opcode)
            continue
        if solution is None and len(data) > len(SIGNET_HEADER) and data.startswith(SIGNET_HEADER):
            solution = data[len(SIGNET_HEADER) :]
            data = SIGNET_HEADER
        rest += push_data(data)
    return (None, script) if solution is None else (solution, bytes(rest))


def _read_solution(solution: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """Return (script_sig, witness). Raises DecodeError unless they are all that the solution holds."""
    script_sig, at = read_var_bytes(solution, 0)
    count, at = read_compact_size(solution, at)
    stack = []
    for _ in range(count):
        item, at = read_var_bytes(solution, at)
        stack.append(item)
    if at != len(solution):
        raise DecodeError("bytes behind the block's solution")
    return script_sig, tuple(stack)


def signet_transactions(block: Block, challenge: bytes) -> tuple[Transaction, Transaction] | None:
    """Return BIP325's (to_spend, to_sign), None if the block has no commitment or its solution can't be decoded."""
    index = witness_commitment_index(block)
    if index is None:
        return None
    coinbase = block.txs[0]
    solution, script = take_solution(coinbase.outputs[index].script_pubkey)
    script_sig: bytes = b""
    stack: tuple[bytes, ...] = ()
    # No solution at all is allowed: a challenge that anyone satisfies needs none.
    if solution is not None:
        try:
            script_sig, stack = _read_solution(solution)
        except DecodeError:
            return None
    outputs = list(coinbase.outputs)
    outputs[index] = TxOut(outputs[index].value, script)
    stripped = Transaction(coinbase.version, coinbase.inputs, outputs, coinbase.lock_time)
    root, _ = merkle_root([stripped.txid, *[tx.txid for tx in block.txs[1:]]])

    header = block.header
    data = (
        header.version.to_bytes(4, "little", signed=True) + header.prev_hash + root + header.time.to_bytes(4, "little")
    )
    to_spend = Transaction(0, [TxIn(NULL_OUTPOINT, bytes((OP_0,)) + push_data(data), 0)], [TxOut(0, challenge)])
    spending = TxIn(make_outpoint(to_spend.txid, 0), script_sig, 0, stack)
    to_sign = Transaction(0, [spending], [TxOut(0, bytes((OP_RETURN,)))])
    return to_spend, to_sign


def check_signet_block_solution(block: Block, params: ChainParams) -> bool:
    """Return whether the block satisfies the network's challenge. Genesis always does."""
    assert params.signet_challenge is not None
    if block.hash == params.genesis.hash:
        return True
    transactions = signet_transactions(block, params.signet_challenge)
    if transactions is None:
        return False
    to_spend, to_sign = transactions
    spent = [to_spend.outputs[0]]
    return verify_input(to_sign, 0, spent, SOLUTION_FLAGS, PrecomputedTxData(to_sign, spent)) is None
