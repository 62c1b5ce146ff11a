"""When clients get a new template: at a new tip at once, for new transactions after five seconds."""

import pytest

from clarion.node.errors import RpcError
from clarion.node.mempool.pool import Mempool
from clarion.node.mining.generate import generate_to_script
from clarion.node.mining.miner import Miner
from clarion.node.mining.template_cache import TemplateCache

OP_TRUE = b"\x51"


@pytest.fixture
def pool(miner: Miner) -> Mempool:
    miner.pool.transactions_updated = 7
    return miner.pool


def test_a_template_is_kept_while_nothing_happens(miner: Miner, pool: Mempool) -> None:
    cache = TemplateCache(miner)
    assert cache.pool_updates == 0
    template = cache.current()
    assert (template.height, template.pool_updates, cache.pool_updates) == (1, 7, 7)
    miner.clock.set_mock(miner.clock.now() + 1000)
    assert cache.current() is template


def test_a_new_tip_needs_a_new_template(miner: Miner, pool: Mempool) -> None:
    cache = TemplateCache(miner)
    template = cache.current()
    (block_hash,) = generate_to_script(miner, OP_TRUE, 1)
    assert cache.current().prev.hash == block_hash != template.prev.hash


@pytest.mark.parametrize(("later_s", "is_new"), [(0, False), (5, False), (6, True)])
def test_new_transactions_wait_five_seconds(miner: Miner, pool: Mempool, later_s: int, is_new: bool) -> None:
    cache = TemplateCache(miner)
    template = cache.current()
    pool.transactions_updated += 1
    miner.clock.set_mock(miner.clock.now() + later_s)
    assert (cache.current() is not template) == is_new
    assert cache.pool_updates == 7 + is_new


def test_a_failure_leaves_no_old_template_behind(miner: Miner, pool: Mempool) -> None:
    cache = TemplateCache(miner)
    template = cache.current()
    generate_to_script(miner, OP_TRUE, 12)
    now = miner.clock.now()
    miner.clock.set_mock(1)
    with pytest.raises(RpcError, match="time-too-new"):
        cache.current()
    miner.clock.set_mock(now)
    assert cache.current().height == template.height + 12


def test_the_last_assembly_is_remembered(miner: Miner) -> None:
    assert miner.last is None
    miner.create_template()
    assert miner.last == (8000, 0)
