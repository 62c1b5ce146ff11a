"""verifychain's levels on a chain that is whole, and on chains that are damaged in one place."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clarion.node.chain.service import ChainService
from clarion.node.chain.verify import Verifier, VerifyResult, check_at_start
from clarion.node.errors import ConfigError
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint
from helpers.chain_builder import genesis, make_block, make_chain
from helpers.chain_node import ChainNode
from helpers.world import spend

CHAIN = make_chain(genesis(), 101)
TIP = make_block(CHAIN[-1], [spend([CHAIN[0].coinbase_output()])])
SUCCESS, CORRUPTED = VerifyResult.SUCCESS, VerifyResult.CORRUPTED_BLOCK_DB


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ChainNode]:
    node = ChainNode(tmp_path)
    node.submit(*CHAIN, TIP)
    yield node
    node.close()


Verify = Callable[[int, int], VerifyResult]


@pytest.fixture
def verifier(node: ChainNode) -> Iterator[Verifier]:
    service = ChainService(node.manager, on_fatal=lambda error: None)
    service.start()
    yield Verifier(service, node.stores)
    service.stop()


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("depth", [0, 1, 6, 1000])
def test_whole_chain(verifier: Verifier, level: int, depth: int) -> None:
    assert verifier.verify(level, depth) is SUCCESS


def damage_block(node: ChainNode) -> None:
    flip(node.block_files.path(0), node.manager.tip.data_pos + 100)


def damage_undo(node: ChainNode) -> None:
    flip(node.undo_files.path(0), node.manager.tip.undo_pos + 5)


def drop_coin(node: ChainNode) -> None:
    node.manager.journal.flush()
    outpoint, _ = TIP.coinbase_output()
    node.database.coins.flush({outpoint: None}, node.manager.tip.hash)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "level"),
    [(damage_block, 1), (damage_undo, 2), (drop_coin, 3)],
    ids=["block", "undo", "coin"],
)
def test_damage_is_found_from_its_level_on(
    node: ChainNode, verifier: Verifier, damage: Callable[[ChainNode], None], level: int
) -> None:
    damage(node)
    results = [verifier.verify(each, 3) for each in range(5)]
    assert results == [SUCCESS] * level + [CORRUPTED] * (5 - level)


def test_damage_below_the_depth_is_not_seen(node: ChainNode, verifier: Verifier) -> None:
    entry = node.manager.state.active.at(90)
    assert entry is not None
    flip(node.block_files.path(0), entry.data_pos + 100)
    assert verifier.verify(3, 6) is SUCCESS
    assert verifier.verify(1, 20) is CORRUPTED


def test_small_cache_skips_level_3(node: ChainNode, verifier: Verifier) -> None:
    object.__setattr__(node.manager.state.options, "cache_bytes", 600)
    assert verifier.verify(3, 20) is VerifyResult.SKIPPED_L3_CHECKS


def test_check_that_was_asked_for_is_not_skipped(node: ChainNode, verifier: Verifier) -> None:
    object.__setattr__(node.manager.state.options, "cache_bytes", 600)
    tip = node.manager.tip
    assert check_at_start(verifier, tip, tip.time, level=3, depth=20) is None
    with pytest.raises(ConfigError, match="Insufficient dbcache"):
        check_at_start(verifier, tip, tip.time, level=3, depth=20, full=True)


def test_interruption(node: ChainNode, verifier: Verifier) -> None:
    verifier._interrupted = lambda: True
    assert verifier.verify(1, 20) is VerifyResult.INTERRUPTED


@pytest.mark.parametrize(("ahead", "refused"), [(7200, False), (7201, True)])
def test_tip_from_the_future(node: ChainNode, verifier: Verifier, ahead: int, refused: bool) -> None:
    reason = check_at_start(verifier, node.manager.tip, node.manager.tip.time - ahead, level=3, depth=6)
    assert (reason is not None and "from the future" in reason) is refused


def test_other_coin_in_place_of_a_spent_one(node: ChainNode, verifier: Verifier) -> None:
    node.manager.journal.flush()
    outpoint = OutPoint(CHAIN[0].coinbase_output()[0])
    node.database.coins.flush({outpoint: Coin(1, b"", 2)}, node.manager.tip.hash)
    assert verifier.verify(3, 6) is CORRUPTED
