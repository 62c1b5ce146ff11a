"""Context-free block rules and the order in which they are told."""

import pytest

from clarion.node.consensus.block_check import check_block, check_block_header
from clarion.node.errors import BlockInvalid
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.block import Block
from clarion.node.primitives.ids import make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import Built, assemble, genesis, make_block, make_coinbase

REGTEST = select_params("regtest")
MAX_MONEY = 21_000_000 * 100_000_000
CHECKSIG = b"\xac"


def payment(index: int = 0, script: bytes = b"\x51", value: int = 1) -> Transaction:
    return Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, index))], [TxOut(value, script)])


def block_of(built: Built) -> Block:
    assert built.block is not None
    return built.block


def refusal(built: Built, **how: bool) -> BlockInvalid:
    with pytest.raises(BlockInvalid) as caught:
        check_block(block_of(built), REGTEST, **how)
    return caught.value


def test_good_block_passes() -> None:
    check_block(block_of(make_block(genesis(), [payment(), payment(1)])), REGTEST)


def test_genesis_passes() -> None:
    for chain in ("main", "test", "testnet4", "signet", "regtest"):
        params = select_params(chain)
        check_block(params.genesis, params)


def test_work_is_needed() -> None:
    built = make_block(genesis(), good_work=False)
    error = refusal(built)
    assert (str(error), error.permanent) == ("high-hash, proof of work failed", True)
    check_block(block_of(built), REGTEST, check_pow=False)
    with pytest.raises(BlockInvalid, match="high-hash"):
        check_block_header(block_of(built).header, REGTEST)


def test_merkle_root_is_checked_and_may_be_forged() -> None:
    built = make_block(genesis(), root=bytes(32))
    error = refusal(built)
    assert (str(error), error.mutated, error.permanent) == ("bad-txnmrklroot, hashMerkleRoot mismatch", True, False)
    check_block(block_of(built), REGTEST, check_merkle=False)


def test_duplicated_transactions_may_be_forged() -> None:
    coinbase = make_coinbase(1)
    error = refusal(assemble(genesis(), [coinbase, payment(), payment(1), payment(1)]))
    assert (str(error), error.mutated) == ("bad-txns-duplicate, duplicate transaction", True)


def test_forgeries_are_told_before_anything_that_condemns() -> None:
    built = assemble(genesis(), [payment(), payment(1)], root=bytes(32))
    assert refusal(built).reject_reason == "bad-txnmrklroot"


def test_empty_block_is_refused() -> None:
    assert str(refusal(assemble(genesis(), []))) == "bad-blk-length, size limits failed"


def test_stripped_size_is_limited() -> None:
    # 80 header, 1 count, 65 coinbase; the payment has 60 bytes around its script.
    around = len(block_of(make_block(genesis(), [payment()])).raw) - 1 + 4
    check_block(block_of(make_block(genesis(), [payment(script=bytes(1_000_000 - around))])), REGTEST)
    error = refusal(make_block(genesis(), [payment(script=bytes(1_000_001 - around))]))
    assert error.reject_reason == "bad-blk-length"


def test_witness_does_not_count_for_the_stripped_size() -> None:
    heavy = Transaction(2, [TxIn(make_outpoint(b"\x11" * 32, 0), witness=(bytes(1_000_000),))], [TxOut(1, b"")])
    check_block(block_of(make_block(genesis(), [heavy])), REGTEST)


def test_first_transaction_is_the_coinbase() -> None:
    error = refusal(assemble(genesis(), [payment(), make_coinbase(1)]))
    assert str(error) == "bad-cb-missing, first tx is not coinbase"


def test_there_is_one_coinbase() -> None:
    error = refusal(assemble(genesis(), [make_coinbase(1), make_coinbase(1, extra_nonce=1)]))
    assert str(error) == "bad-cb-multiple, more than one coinbase"


def test_transactions_are_checked() -> None:
    bad = payment(value=MAX_MONEY + 1)
    error = refusal(make_block(genesis(), [payment(1), bad]))
    assert error.reject_reason == "bad-txns-vout-toolarge"
    # The reference leaves a blank where the transaction's own detail would be.
    assert error.debug == f"Transaction check failed (tx hash {bad.txid[::-1].hex()}) "


def test_legacy_sigops_are_limited() -> None:
    limit = 80_000 // 4
    check_block(block_of(make_block(genesis(), [payment(script=CHECKSIG * limit)])), REGTEST)
    error = refusal(make_block(genesis(), [payment(script=CHECKSIG * (limit + 1))]))
    assert str(error) == "bad-blk-sigops, out-of-bounds SigOpCount"


def test_bad_transactions_are_told_before_sigops() -> None:
    error = refusal(make_block(genesis(), [payment(script=CHECKSIG * 20_001), payment(1, value=-1)]))
    assert error.reject_reason == "bad-txns-vout-negative"
