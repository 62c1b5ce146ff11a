"""Warnings of the chain: unknown rules, and an invalid chain that has more work than ours."""

from pathlib import Path

import pytest

from clarion.node.chain.chain_warnings import INVALID_CHAIN, ChainWarnings
from clarion.node.chain.clock import Clock
from helpers.chain_builder import (
    GENESIS_TIME,
    SPACING,
    Built,
    genesis,
    make_block,
    make_chain,
    make_coinbase,
    subsidy,
)
from helpers.chain_node import ChainNode

PERIOD = 144
UNKNOWN = 0x20000000 | 1 << 3 | 1 << 5
"""Bit 5 is one of those that say nothing (BIP323)."""


def signalling(prev: Built, count: int) -> list[Built]:
    """Return blocks that signal for a rule that nobody knows."""
    blocks: list[Built] = []
    for _ in range(count):
        blocks.append(make_block(blocks[-1] if blocks else prev, version=UNKNOWN))
    return blocks


def watched(node: ChainNode) -> tuple[ChainWarnings, list[str]]:
    """Return the warnings of a node, and the list that gets every new one."""
    told: list[str] = []
    warnings = ChainWarnings(node.manager.state, told.append)
    node.manager.tip_watch.subscribe(warnings.tip_moved)
    node.manager.state.on_invalid_chain = warnings.look_for_invalid_chain
    return warnings, told


@pytest.mark.slow
def test_unknown_rules_are_told_once_they_are_active(tmp_path: Path) -> None:
    node = ChainNode(tmp_path, clock=Clock(GENESIS_TIME + SPACING * 4 * PERIOD))
    warnings, told = watched(node)
    chain = make_chain(genesis(), PERIOD - 1)
    chain += signalling(chain[-1], PERIOD)
    chain += make_chain(chain[-1], PERIOD - 1)
    node.submit(*chain)
    assert (node.manager.initial_download, warnings.messages()) == (False, [])
    node.submit(*make_chain(chain[-1], 2))
    assert warnings.messages() == told == ["Unknown new rules activated (versionbit 3)"]


def test_nothing_is_told_of_rules_in_initial_download(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    warnings, told = watched(node)
    warnings._rules.activations = lambda tip: [(3, True)]  # type: ignore[method-assign]
    node.manager.state.initial_download = node.manager.state.importing = True
    chain = make_chain(genesis(), 2)
    node.submit(chain[0])
    assert (warnings.messages(), told) == ([], [])
    node.manager.state.importing = False
    node.submit(chain[1])
    assert warnings.messages() == told == ["Unknown new rules activated (versionbit 3)"]


def submit_invalid(node: ChainNode, count: int) -> Built:
    """Submit headers of a chain that takes too much money, then its blocks from the last; return what is valid."""
    chain = make_chain(genesis(), 1)
    node.submit(*chain)
    for height in range(2, 2 + count):
        chain.append(make_block(chain[-1], coinbase=make_coinbase(height, value=subsidy(height) + 1)))
    for built in chain[1:]:
        assert built.block is not None
        node.manager.process_new_headers([built.block.header])
    node.submit(*reversed(chain[1:]))
    assert node.tip == chain[0].hash
    return chain[0]


def test_longer_invalid_chain_is_told_until_ours_is_as_long(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    warnings, told = watched(node)
    valid = submit_invalid(node, 7)
    assert warnings.messages() == told == [f"Warning: {INVALID_CHAIN}"]
    node.submit(*make_chain(valid, 1))
    assert (warnings.messages(), len(told)) == ([], 1)


def test_invalid_chain_that_is_six_blocks_longer_is_nothing_to_tell(tmp_path: Path) -> None:
    node = ChainNode(tmp_path)
    warnings, told = watched(node)
    submit_invalid(node, 6)
    assert (warnings.messages(), told) == ([], [])
