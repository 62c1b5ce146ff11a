"""Mining at once on a real chain: hashes, tries, and the errors that clients see."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain.clock import Clock
from clarion.node.chain.service import ChainService
from clarion.node.errors import BlockInvalid, RpcError
from clarion.node.mining.generate import find_nonce, generate_block, generate_to_script
from clarion.node.mining.template import build_block
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.ids import OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_node import ChainNode

OP_TRUE = b"\x51"
CLOCK = Clock(1_700_000_000)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[ChainService]:
    node = ChainNode(tmp_path, clock=CLOCK)
    failures: list[BaseException] = []
    service = ChainService(node.manager, failures.append)
    service.start()
    yield service
    service.stop()
    node.close()
    assert failures == []


def test_blocks_are_mined_and_connected(chain: ChainService) -> None:
    hashes = generate_to_script(chain, CLOCK, OP_TRUE, 3)
    tip = chain.manager.tip
    assert tip.height == 3
    assert hashes[-1] == tip.hash
    assert tip.prev is not None
    assert hashes[1] == tip.prev.hash


def test_tries_are_for_all_blocks_together(chain: ChainService) -> None:
    hashes = generate_to_script(chain, CLOCK, OP_TRUE, 100, 20)
    assert 0 < len(hashes) < 100
    assert chain.manager.tip.height == len(hashes)
    assert generate_to_script(chain, CLOCK, OP_TRUE, 1, 0) == []
    assert generate_to_script(chain, CLOCK, OP_TRUE, 0) == []


def test_generate_block_does_not_claim_fees(chain: ChainService) -> None:
    generate_to_script(chain, CLOCK, OP_TRUE, 101)
    first = chain.manager.tip.ancestor(1)
    assert first is not None
    block = generate_block(chain, CLOCK, OP_TRUE, [], submit=False)
    assert block is not None
    assert chain.manager.tip.height == 101
    assert block.txs[0].outputs[0].value == 50_00000000
    mined = generate_block(chain, CLOCK, OP_TRUE, [], submit=True)
    assert mined is not None
    assert chain.manager.tip.hash == mined.hash


def test_invalid_transactions_are_refused_in_the_reference_words(chain: ChainService) -> None:
    tx = Transaction(2, [TxIn(OutPoint(b"\x09" * 36))], [TxOut(1, OP_TRUE)])
    with pytest.raises(BlockInvalid) as caught:
        generate_block(chain, CLOCK, OP_TRUE, [tx])
    assert str(caught.value) == (
        "bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent in transaction " + tx.txid[::-1].hex()
    )
    assert chain.manager.tip.height == 0


def test_time_too_far_ahead_is_an_rpc_error(chain: ChainService) -> None:
    generate_to_script(chain, Clock(1_700_000_000 + 7000), OP_TRUE, 12)
    behind = Clock(1_000_000_000)
    chain.manager.state.clock.set_mock(1_600_000_000)
    try:
        with pytest.raises(RpcError) as caught:
            generate_to_script(chain, behind, OP_TRUE, 1)
    finally:
        chain.manager.state.clock.set_mock(1_700_000_000)
    assert caught.value.code == -1
    assert caught.value.message.startswith("TestBlockValidity failed: time-too-new")


def test_block_version(chain: ChainService) -> None:
    generate_to_script(chain, CLOCK, OP_TRUE, 1, block_version=0x30000000)
    assert chain.manager.tip.version == 0x30000000


def test_hard_target_uses_up_the_tries(chain: ChainService) -> None:
    main = select_params("main")
    tip = chain.manager.tip
    block = build_block(tip, main, 1_700_000_000, OP_TRUE)
    block.header.bits = 0x1D00FFFF
    assert find_nonce(block, main, 50) == (None, 0)
