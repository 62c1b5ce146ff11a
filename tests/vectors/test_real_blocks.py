"""Every input of real blocks is valid under the flags of its height, in every check queue; a changed byte is not."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clarion.node.validation.check_queue import CheckQueue, make_check_queue
from clarion.node.validation.process_queue import ProcessQueue
from helpers.counts import RecordCount
from helpers.real_blocks import BLOCKS, RealBlock, flip_signature_byte, load_real_block

QUEUES = ("inline", "threads", "processes")


@pytest.fixture(scope="module", params=QUEUES)
def check_queue(request: pytest.FixtureRequest) -> Iterator[CheckQueue]:
    queue = make_check_queue(2, 128, request.param)
    queue.start()
    yield queue
    queue.close()


@pytest.fixture(params=BLOCKS)
def real_block(request: pytest.FixtureRequest, shared_path: Callable[..., Path]) -> RealBlock:
    return load_real_block(shared_path("blocks"), request.param)


def test_every_input_is_valid(
    real_block: RealBlock, check_queue: CheckQueue, request: pytest.FixtureRequest, record_count: RecordCount
) -> None:
    name = request.node.callspec.params["real_block"]
    assert real_block.input_count == BLOCKS[name][2]
    failure = check_queue.check(real_block.jobs, real_block.flags)
    queue = request.node.callspec.params["check_queue"]
    record_count(f"real block {name} ({queue})", real_block.input_count if failure is None else 0, BLOCKS[name][2])
    assert failure is None


def test_flipped_signature_byte_is_invalid(real_block: RealBlock, check_queue: CheckQueue) -> None:
    tx_index = real_block.jobs[len(real_block.jobs) // 2].tx_index
    jobs = flip_signature_byte(real_block.jobs, tx_index, 0)
    failure = check_queue.check(jobs, real_block.flags)
    assert failure is not None
    assert (failure.tx_index, failure.input_index) == (tx_index, 0)


def test_killed_worker_is_replaced_and_the_block_validates(shared_path: Callable[..., Path]) -> None:
    block = load_real_block(shared_path("blocks"), "mainnet-300025")
    queue = ProcessQueue(2, 16)
    try:
        queue.start()
        victim = queue.worker_pids[0]
        assert queue.check(block.jobs, block.flags) is None
        os.kill(victim, signal.SIGKILL)
        assert queue.check(block.jobs, block.flags) is None
        assert victim not in queue.worker_pids
        assert len(queue.worker_pids) == 2
    finally:
        queue.close()
