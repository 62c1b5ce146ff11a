"""The reference's coinbase, byte for byte, and the header of a new block."""

import pytest

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.consensus.block_check import check_block
from clarion.node.consensus.witness import check_witness_malleation
from clarion.node.mining.template import BlockTemplate, build_block, complete_witness, minimum_time
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.primitives.block import Block, BlockHeader
from clarion.node.primitives.ids import NULL_OUTPOINT, OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.headers import grow, header_on

PARAMS = select_params("regtest")
SCRIPT = bytes.fromhex("0014") + bytes(20)
NOW = 1_700_000_000


def tip_at(height: int) -> BlockIndexEntry:
    return grow(BlockIndex(), None, height + 1)[-1]


def spend(witness: tuple[bytes, ...] = ()) -> Transaction:
    return Transaction(2, [TxIn(OutPoint(b"\x01" * 36), b"", 0xFFFFFFFF, witness)], [TxOut(5, SCRIPT)])


@pytest.mark.parametrize(
    ("height", "script_sig"),
    [(1, "5100"), (16, "6000"), (17, "0111"), (127, "017f"), (128, "028000"), (150, "029600"), (300, "022c01")],
)
def test_coinbase_as_the_reference_builds_it(height: int, script_sig: str) -> None:
    block = build_block(tip_at(height - 1), PARAMS, NOW, SCRIPT, fees=7)
    coinbase = block.txs[0]
    assert coinbase.inputs[0].prevout == NULL_OUTPOINT
    assert coinbase.inputs[0].script_sig.hex() == script_sig
    assert (coinbase.version, coinbase.inputs[0].sequence, coinbase.lock_time) == (2, 0xFFFFFFFE, height - 1)
    assert coinbase.outputs[0] == TxOut((50_00000000 >> (height // 150)) + 7, SCRIPT)
    assert len(coinbase.outputs) == 2


def test_commitment_of_an_empty_block() -> None:
    coinbase = build_block(tip_at(9), PARAMS, NOW, SCRIPT).txs[0]
    # Known from any block of the reference's without transactions.
    expected = "6a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf9"
    assert coinbase.outputs[1] == TxOut(0, bytes.fromhex(expected))
    assert coinbase.inputs[0].witness == (bytes(32),)


@pytest.mark.parametrize("witness", [(), (b"\x01",)], ids=["legacy", "segwit"])
def test_block_passes_the_checks_of_its_own(witness: tuple[bytes, ...]) -> None:
    block = build_block(tip_at(9), PARAMS, NOW, SCRIPT, [spend(witness)])
    check_block(block, PARAMS, check_pow=False)
    check_witness_malleation(block, True)
    assert Block.parse(block.raw).txs[1].txid == spend().txid


def test_time_is_now_or_after_median_time_past() -> None:
    tip = tip_at(20)
    assert build_block(tip, PARAMS, NOW, SCRIPT).header.time == NOW
    assert build_block(tip, PARAMS, 5, SCRIPT).header.time == tip.median_time_past() + 1


def test_first_block_of_a_period_keeps_bip94() -> None:
    index = BlockIndex()
    tip = grow(index, None, PARAMS.difficulty_interval - 1)[-1]
    late = index.add(header_on(tip.hash, tip.time + 100_000))
    assert late.height + 1 == PARAMS.difficulty_interval
    assert minimum_time(late, PARAMS) == late.time - 600


def test_version_signals_and_can_be_replaced() -> None:
    # testdummy starts at once on regtest: its state is STARTED after the first period.
    assert build_block(tip_at(10), PARAMS, NOW, SCRIPT).header.version == 0x20000000
    assert build_block(tip_at(143), PARAMS, NOW, SCRIPT).header.version == 0x20000000 | 1 << 28
    assert build_block(tip_at(143), PARAMS, NOW, SCRIPT, version=4).header.version == 4


def test_testnet_takes_the_lowest_difficulty_after_twenty_minutes() -> None:
    params = select_params("test")
    index = BlockIndex()
    tip = index.add(BlockHeader(1, bytes(32), bytes(32), NOW, 0x1C00FFFF, 0))
    assert build_block(tip, params, NOW + 1200, SCRIPT).header.bits == 0x1C00FFFF
    assert build_block(tip, params, NOW + 1201, SCRIPT).header.bits == 0x1D00FFFF


def test_complete_witness() -> None:
    tip = tip_at(9)
    block = build_block(tip, PARAMS, NOW, SCRIPT)
    coinbase = block.txs[0]
    bare = Transaction(
        coinbase.version, [TxIn(NULL_OUTPOINT, coinbase.inputs[0].script_sig, 0xFFFFFFFE)], coinbase.outputs, 9
    )
    completed = complete_witness(Block(block.header, [bare]), tip, PARAMS)
    assert completed.raw == block.raw
    assert complete_witness(block, tip, PARAMS) is block


def test_without_commitment_nothing_is_added() -> None:
    coinbase = Transaction(1, [TxIn(NULL_OUTPOINT, b"\x51\x00")], [TxOut(1, SCRIPT)])
    block = Block(BlockHeader(1, bytes(32), coinbase.txid, NOW, 0x207FFFFF, 0), [coinbase])
    assert complete_witness(block, tip_at(9), PARAMS) is block
    before_segwit = select_params("regtest", activation_heights={"segwit": 100})
    assert complete_witness(build_block(tip_at(9), PARAMS, NOW, SCRIPT), tip_at(9), before_segwit).txs[0].has_witness


def template_on(tip: BlockIndexEntry, params: ChainParams, now: int) -> BlockTemplate:
    block = build_block(tip, params, now, SCRIPT)
    return BlockTemplate(block, tip, minimum_time(tip, params), [], [], {})


def test_time_of_a_template_goes_forward_only() -> None:
    template = template_on(tip_at(20), PARAMS, NOW)
    assert template.header_at(NOW - 1000, PARAMS).time == NOW
    later = template.header_at(NOW + 5, PARAMS)
    assert (later.time, later.bits, later.nonce) == (NOW + 5, template.block.header.bits, 0)
    assert later.merkle_root == template.block.header.merkle_root


def test_bits_of_a_template_follow_its_time_on_testnet() -> None:
    params = select_params("test")
    tip = BlockIndex().add(BlockHeader(1, bytes(32), bytes(32), NOW, 0x1C00FFFF, 0))
    template = template_on(tip, params, NOW + 600)
    assert template.header_at(NOW + 1200, params).bits == 0x1C00FFFF
    assert template.header_at(NOW + 1201, params).bits == 0x1D00FFFF
