"""What a plugin's RPC methods and routes are given: the node's parts in the node, the databases in an API process.

Owns: these two protocols. Never: building what fulfils them (`clarion.api.rpc.context`).
"""

from collections.abc import Sequence
from typing import Any, Protocol

from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.chain.service import ChainService
from clarion.node.config import Config
from clarion.node.mempool.service import MempoolService
from clarion.node.params.chain_params import ChainParams
from clarion.node.storage.chain_reader import ChainReader
from clarion.node.storage.index_store import IndexReader


class NodeAccess(Protocol):
    """The running node, for methods that run in it. Handlers run on threads of the control channel, never the chain's."""

    @property
    def config(self) -> Config:
        """The node's configuration."""
        ...

    @property
    def params(self) -> ChainParams:
        """The network's parameters."""
        ...

    @property
    def chain(self) -> ChainService:
        """The chain; `chain.manager.tip` is its tip."""
        ...

    @property
    def mempool(self) -> MempoolService:
        """The mempool."""
        ...

    @property
    def indexes(self) -> Indexes:
        """The indexes: how far they are, and jobs for them."""
        ...


class NodeCalls(Protocol):
    """The way from an API process to the node."""

    def call_blocking(self, method: str, params: Sequence[Any]) -> Any:
        """Call an RPC method that runs in the node, from a thread, and return its result. Raises RpcError."""
        ...


class ReaderAccess(Protocol):
    """Databases and block files, read beside the node, for methods and routes of an API process."""

    @property
    def params(self) -> ChainParams:
        """The network's parameters."""
        ...

    @property
    def reader(self) -> ChainReader:
        """The chain; `with reader.snapshot() as view` is one consistent view."""
        ...

    @property
    def node(self) -> NodeCalls:
        """The node."""
        ...

    def index(self, store_name: str) -> IndexReader:
        """Return the reader of an index's database."""
        ...

    def wait_for_index(self, name: str, store_name: str) -> bool:
        """Wait until an index has reached the present tip; false if it is still being built, or is not there."""
        ...
