"""A miner on a real regtest chain whose clock stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarion.node.chain.clock import Clock
from clarion.node.chain.service import ChainService
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.pool import Mempool
from clarion.node.mining.miner import Miner
from clarion.node.mining.options import MiningOptions
from helpers.chain_node import ChainNode


@pytest.fixture
def miner(tmp_path: Path) -> Iterator[Miner]:
    """Return a miner over the genesis block."""
    node = ChainNode(tmp_path, clock=Clock(1_700_000_000))
    failures: list[BaseException] = []
    service = ChainService(node.manager, failures.append)
    service.start()
    pool = Mempool(MempoolOptions(), node.clock)
    yield Miner(service, pool, node.clock, MiningOptions())
    service.stop()
    node.close()
    assert failures == []
