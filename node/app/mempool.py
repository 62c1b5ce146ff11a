"""The mempool's parts put together.

Owns: which part is given to which. Never: what a part does.
"""

from clarion.node.chain.service import ChainService
from clarion.node.config import Config
from clarion.node.mempool.accept.acceptor import Acceptor
from clarion.node.mempool.pool import Mempool
from clarion.node.mempool.service import MempoolService
from clarion.node.validation.tx_scripts import TxScripts


def make_mempool(config: Config, chain: ChainService, scripts: TxScripts) -> MempoolService:
    """Return an empty mempool that the chain tells of its blocks from now on. The chain thread need not run yet."""
    pool = Mempool(config.mempool, chain.manager.state.clock)
    return MempoolService(chain, pool, Acceptor(pool, chain, scripts), config.chain_dir)
