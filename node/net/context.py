"""What the network needs of the node.

Owns: the bundle. Never: building its parts.
"""

from dataclasses import dataclass, field
from pathlib import Path

from clarion.node.chain.service import ChainService
from clarion.node.chain.stores import ChainStores
from clarion.node.mempool.service import MempoolService
from clarion.node.net.clock import NetClock
from clarion.node.net.network_groups import NetGroups, load_groups
from clarion.node.net.options import NetOptions
from clarion.node.net.protocol import ServiceFlags
from clarion.node.net.traffic import Traffic
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.index_store import IndexReader


@dataclass(slots=True)
class NetContext:
    """The node's parts that peers lead to. `data_dir` is the network's own folder; `pruned`: old blocks are deleted."""

    params: ChainParams
    options: NetOptions
    chain: ChainService
    mempool: MempoolService
    stores: ChainStores
    clock: NetClock
    data_dir: Path
    pruned: bool = False
    filters: IndexReader | None = None
    """The index of compact filters, where the node has it."""
    traffic: Traffic = field(init=False)
    groups: NetGroups = field(init=False)

    def __post_init__(self) -> None:
        """Raises ConfigError if there is something wrong with the map of -asmap."""
        name = self.options.asmap
        self.groups = load_groups(None if name is None else self.data_dir / name)
        self.traffic = Traffic(self.options.max_upload_bytes, self.clock.now)

    @property
    def local_services(self) -> int:
        """What we offer."""
        services = ServiceFlags.NETWORK_LIMITED | ServiceFlags.WITNESS
        # While the history below a snapshot is not validated, old blocks are not there yet.
        if not self.pruned and self.chain.manager.state.snapshot_base is None:
            services |= ServiceFlags.NETWORK
        if self.options.peer_bloom_filters:
            services |= ServiceFlags.BLOOM
        if self.options.peer_block_filters:
            services |= ServiceFlags.COMPACT_FILTERS
        return services | ServiceFlags.P2P_V2 if self.options.v2_transport else services
