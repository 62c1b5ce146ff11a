"""The mempool's parts put together.

Owns: which part is given to which. Never: what a part does.
"""

from contextlib import ExitStack

from clarion.node.chain.service import ChainService
from clarion.node.config import Config
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.accept.operator_policy import OperatorPolicy
from clarion.node.mempool.fees.estimates_file import FILE_NAME, load_estimator, save_estimator
from clarion.node.mempool.fees.estimator import FeeEstimator
from clarion.node.mempool.fees.observer import FeeObserver
from clarion.node.mempool.pool import Mempool
from clarion.node.mempool.script_pool import ScriptPool
from clarion.node.mempool.service import MempoolService
from clarion.node.validation.tx_scripts import TxScripts


def make_mempool(
    config: Config, chain: ChainService, scripts: TxScripts, policy: OperatorPolicy | None = None
) -> MempoolService:
    """Return an empty mempool that the chain tells of its blocks from now on. The chain thread need not run yet.

    `policy` are the operator's own rules, if there are any.
    """
    pool = Mempool(config.mempool, chain.manager.state.clock)
    service = MempoolService(chain, pool, Acceptor(pool, chain, scripts, policy), config.chain_dir)
    if config.script_index:
        service.scripts = ScriptPool(pool)
    return service


def make_fee_estimator(config: Config, pool: Mempool, cleanup: ExitStack) -> FeeEstimator | None:
    """Return an estimator that learns from the pool from now on; None where peers' transactions are not taken.

    `cleanup` stores what it knows; by then nothing may change any more.
    """
    if config.mempool.blocks_only:
        return None
    estimator = load_estimator(config.chain_dir / FILE_NAME, accept_stale=config.mempool.accept_stale_fee_estimates)
    pool.observers.append(FeeObserver(estimator))
    cleanup.callback(save_fee_estimates, config, estimator)
    cleanup.callback(estimator.flush_unconfirmed)
    return estimator


def save_fee_estimates(config: Config, estimator: FeeEstimator) -> None:
    """Store what the estimator knows."""
    save_estimator(estimator, config.chain_dir / FILE_NAME)
