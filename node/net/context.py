"""What the network needs of the node.

Owns: the bundle. Never: building its parts.
"""

from dataclasses import dataclass
from pathlib import Path

from clarion.node.chain.service import ChainService
from clarion.node.chain.stores import ChainStores
from clarion.node.mempool.service import MempoolService
from clarion.node.net.clock import NetClock
from clarion.node.net.options import NetOptions
from clarion.node.params.chain_params import ChainParams


@dataclass(frozen=True, slots=True)
class NetContext:
    """The node's parts that peers lead to. `data_dir` is the network's own folder."""

    params: ChainParams
    options: NetOptions
    chain: ChainService
    mempool: MempoolService
    stores: ChainStores
    clock: NetClock
    data_dir: Path
