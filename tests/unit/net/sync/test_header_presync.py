"""Two passes over headers that have not shown enough work."""

from dataclasses import replace

import pytest

from clarion.node.chain.block_index import BlockIndex, BlockIndexEntry
from clarion.node.consensus.pow import block_proof
from clarion.node.net.sync.presync import HeaderPresync, Phase
from clarion.node.params.chain_params import ChainParams, select_params
from clarion.node.params.model import HeadersSyncParams
from clarion.node.primitives.block import BlockHeader
from helpers.chain_builder import genesis, make_chain

PERIOD, BUFFER, COUNT = 3, 20, 90


@pytest.fixture(scope="module")
def headers() -> list[BlockHeader]:
    return [built.block.header for built in make_chain(genesis(), COUNT) if built.block is not None]


@pytest.fixture(scope="module")
def other() -> list[BlockHeader]:
    """Another chain from the same start."""
    return [built.block.header for built in make_chain(genesis(), COUNT, extra_nonce=1) if built.block is not None]


@pytest.fixture
def start() -> BlockIndexEntry:
    return BlockIndex().add(select_params("regtest").genesis.header)


def params() -> ChainParams:
    return replace(select_params("regtest"), headers_sync=HeadersSyncParams(PERIOD, BUFFER))


def begin(start: BlockIndexEntry, blocks_of_work: int) -> HeaderPresync:
    least = start.chainwork + blocks_of_work * block_proof(start.bits)
    return HeaderPresync(1, params(), start, least, start.time + 1000 * 600)


def test_headers_come_out_of_the_second_pass(start: BlockIndexEntry, headers: list[BlockHeader]) -> None:
    presync = begin(start, 60)
    first = presync.process(headers[:50], full=True)
    assert (first.headers, first.more, presync.phase, presync.height) == ([], True, Phase.PRESYNC, 50)
    second = presync.process(headers[50:70], full=True)
    assert (second.headers, second.more, presync.phase) == ([], True, Phase.REDOWNLOAD)
    assert presync.locator_start == start.hash
    third = presync.process(headers[:50], full=True)
    assert third.headers == headers[: 50 - BUFFER]
    last = presync.process(headers[50:80], full=True)
    assert last.headers == headers[50 - BUFFER : 80]
    assert (last.more, presync.phase) == (False, Phase.OVER)


def test_another_chain_in_the_second_pass_is_noticed(
    start: BlockIndexEntry, headers: list[BlockHeader], other: list[BlockHeader]
) -> None:
    # Six bits stand between the forger and 20 headers; five tries that all pass are one in a billion.
    for _ in range(5):
        presync = begin(start, 80)
        presync.process(headers, full=True)
        step = presync.process(other[:60], full=True)
        if not step.valid:
            break
        assert len(step.headers) <= 60 - BUFFER
    assert (step.valid, step.headers, presync.phase) == (False, [], Phase.OVER)


@pytest.mark.parametrize("phase", [Phase.PRESYNC, Phase.REDOWNLOAD])
def test_a_gap_ends_it(start: BlockIndexEntry, headers: list[BlockHeader], phase: Phase) -> None:
    presync = begin(start, 60)
    presync.process(headers[:50], full=True)
    if phase is Phase.REDOWNLOAD:
        presync.process(headers[50:70], full=True)
    step = presync.process(headers[71:80], full=True)
    assert (step.valid, step.more, presync.phase) == (False, False, Phase.OVER)


def test_a_chain_that_ends_too_early_is_given_up(start: BlockIndexEntry, headers: list[BlockHeader]) -> None:
    presync = begin(start, 60)
    step = presync.process(headers[:50], full=False)
    assert (step.valid, step.headers, step.more, presync.phase) == (True, [], False, Phase.OVER)


def test_bits_do_not_pile_up(start: BlockIndexEntry, headers: list[BlockHeader]) -> None:
    presync = HeaderPresync(1, params(), start, start.chainwork * 10**6, start.time - 7200 + 5)
    step = presync.process(headers, full=True)
    assert (step.valid, presync.phase) == (False, Phase.OVER)
