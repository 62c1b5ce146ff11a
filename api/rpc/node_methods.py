"""Runs NODE methods in the node process, whichever way a call came in.

Owns: the warm-up answer and the encoding of results. Never: sockets, threads.
"""

from __future__ import annotations

import importlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from clarion.api.rpc import registry
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.waiting import Waiting
from clarion.node.errors import RpcError, StorageError, text_for_clients

if TYPE_CHECKING:
    from clarion.api.rpc.context import NodeContext

_log = logging.getLogger("clarion.rpc")

METHOD_MODULES = (
    "addresses",
    "bans",
    "block_stats",
    "block_template",
    "blockchain",
    "block_from_peer",
    "chain_control",
    "chain_files",
    "chain_state",
    "chain_stats",
    "chainstates",
    "connections",
    "block_filters",
    "coin_set",
    "control",
    "deployments",
    "descriptor_activity",
    "event_waits",
    "fees",
    "index_access",
    "lanes",
    "left_out",
    "memory",
    "mempool",
    "mempool_file",
    "mempool_entries",
    "mempool_graph",
    "mempool_submit",
    "messages",
    "mining",
    "mining_info",
    "multisig",
    "network",
    "node_state",
    "orphans",
    "priority",
    "psbt_making",
    "psbt_decoding",
    "psbt_finishing",
    "psbt_updating",
    "peers",
    "raw_signing",
    "raw_transaction",
    "scan",
    "scan_blocks",
    "spending",
    "tip_waits",
    "transaction_lookup",
    "transaction_sources",
    "tx_proof",
    "unspent",
    "util",
    "utxo",
    "utxo_snapshot",
    "utxo_snapshot_loading",
)
"""Modules of this package whose import registers the methods."""


def load_methods() -> None:
    """Import every module that declares methods."""
    for name in METHOD_MODULES:
        importlib.import_module(f"clarion.api.rpc.{name}")


class CallRunner(ABC):
    """Answers the API's calls of NODE methods. Thread-safe."""

    @abstractmethod
    def start(self, name: str, params: Sequence[Any]) -> bytes | Waiting:
        """Return the JSON result of method `name`, or what to wait for. Raises RpcError and whatever the method does."""

    def resume(self, waiting: Waiting) -> bytes | Waiting:
        """Return the JSON result of a call whose `ready` is resolved, or what it has to wait for now."""
        return _result(waiting.answer())

    def run(self, name: str, params: Sequence[Any]) -> bytes:
        """Do the same from beginning to end, on the calling thread."""
        result = self.start(name, params)
        while isinstance(result, Waiting):
            result.ready.result()
            result = self.resume(result)
        return result


class NodeMethods(CallRunner):
    """Answers calls with -28 and the start-up message until `attach` gives the running node. Thread-safe."""

    def __init__(self) -> None:
        load_methods()
        self._message = "RPC server started"
        self._context: NodeContext | None = None

    def set_message(self, text: str) -> None:
        """Say what the node is doing while it starts (`Loading block index…`)."""
        self._message = text

    def attach(self, context: NodeContext) -> None:
        """Start to answer: the node is ready."""
        self._context = context

    def start(self, name: str, params: Sequence[Any]) -> bytes | Waiting:
        """Return the JSON result of method `name`, or what to wait for. Raises RpcError and whatever the method does."""
        if name == "_status":
            return orjson.dumps({"ready": self._context is not None, "message": self._message})
        context = self._context
        if context is None:
            raise RpcError(RpcCode.IN_WARMUP, self._message)
        method = registry.find_internal(name)
        if method is None or method.where is not registry.NODE:
            raise RpcError(RpcCode.METHOD_NOT_FOUND, "Method not found")
        return _result(method.handler(context, *params))


def _result(result: Any) -> bytes | Waiting:
    return result if isinstance(result, Waiting) else encode(result)


def encode(result: Any) -> bytes:
    """Return `result` as compact JSON."""
    return orjson.dumps(result)


def as_rpc_error(error: Exception, method: str) -> RpcError:
    """Return what a client is told about `error`: an RpcError as it is, anything else as code -1, logged."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, StorageError):
        # The message says it all; where a database is away, it would come with every call.
        _log.error("RPC method %s failed: %s", method, error)
    else:
        _log.exception("RPC method %s failed", method, exc_info=error)
    return RpcError(RpcCode.MISC_ERROR, text_for_clients(error))
