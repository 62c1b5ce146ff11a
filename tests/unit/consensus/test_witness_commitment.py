"""The commitment to witnesses (BIP141) and forged blocks."""

import pytest

from clarion.node.consensus.witness import (
    check_witness_malleation,
    find_mutation,
    witness_commitment,
    witness_commitment_index,
)
from clarion.node.errors import BlockInvalid
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import assemble, commitment_output, genesis, make_coinbase

RESERVED = bytes(range(32))
TX = Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0), witness=(b"\x01",))], [TxOut(1, b"\x51")])
GOOD = commitment_output([TX], RESERVED)
WRONG = commitment_output([], RESERVED)


def block(
    outputs: list[TxOut], witness: tuple[bytes, ...] = (RESERVED,), txs: tuple[Transaction, ...] = (TX,)
) -> Block:
    built = assemble(genesis(), [make_coinbase(1, more_outputs=outputs, witness=witness), *txs])
    assert built.block is not None
    return built.block


def verdict(found: Block, expect: bool = True) -> str | None:
    try:
        check_witness_malleation(found, expect)
    except BlockInvalid as error:
        return str(error) if error.mutated else f"permanent {error}"
    return None


NONCE = "bad-witness-nonce-size, CheckWitnessMalleation : invalid witness reserved value size"
MISMATCH = "bad-witness-merkle-match, CheckWitnessMalleation : witness merkle commitment mismatch"
UNEXPECTED = "unexpected-witness, CheckWitnessMalleation : unexpected witness data found"


@pytest.mark.parametrize(
    ("outputs", "witness", "reason"),
    [
        pytest.param([GOOD], (RESERVED,), None, id="good"),
        pytest.param([WRONG, GOOD], (RESERVED,), None, id="the-last-counts"),
        pytest.param([GOOD, WRONG], (RESERVED,), MISMATCH, id="the-last-counts-wrong"),
        pytest.param([TxOut(0, GOOD.script_pubkey + b"\x51")], (RESERVED,), None, id="longer-script"),
        pytest.param([TxOut(0, GOOD.script_pubkey[:-1])], (RESERVED,), UNEXPECTED, id="shorter-script"),
        pytest.param([GOOD], (), NONCE, id="no-reserved-value"),
        pytest.param([GOOD], (RESERVED[:31],), NONCE, id="short-reserved-value"),
        pytest.param([GOOD], (RESERVED, RESERVED), NONCE, id="two-reserved-values"),
        pytest.param([GOOD], (bytes(32),), MISMATCH, id="other-reserved-value"),
        pytest.param([], (), UNEXPECTED, id="no-commitment"),
    ],
)
def test_commitment(outputs: list[TxOut], witness: tuple[bytes, ...], reason: str | None) -> None:
    assert verdict(block(outputs, witness)) == reason


def test_before_segwit_there_is_no_witness() -> None:
    assert verdict(block([GOOD]), expect=False) == UNEXPECTED
    plain = Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0))], [TxOut(1, b"")])
    assert verdict(block([GOOD], (), (plain,)), expect=False) is None


def test_block_without_witness_needs_no_commitment() -> None:
    assert verdict(block([], (), ())) is None


def test_commitment_leaves_the_coinbase_out() -> None:
    found = block([GOOD])
    assert witness_commitment_index(found) == 1
    assert GOOD.script_pubkey[6:] == witness_commitment(found, RESERVED)
    assert witness_commitment_index(block([], ())) is None


def test_mutation_is_seen_without_context() -> None:
    good = block([GOOD])
    assert not find_mutation(good, True)
    assert find_mutation(Block(good.header, good.txs[:1]), True)
    assert find_mutation(block([WRONG]), True)
    assert find_mutation(block([GOOD]), False)


def test_transaction_of_64_bytes_can_pose_as_a_tree_node() -> None:
    # 4 version, 1 + 41 + 4 input and script, 1 + 9 output, 4 lock time.
    small = Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0), b"\x51" * 4)], [TxOut(1, b"")])
    assert small.base_size == 64
    built = assemble(genesis(), [small])
    assert built.block is not None
    assert find_mutation(built.block, True)
