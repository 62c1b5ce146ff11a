"""Keeps the size of every block of the chain: an index, an RPC method and an HTTP route that read it."""

from collections.abc import Iterable

from clarion.node.chain.indexes.index import IndexBatch, IndexedBlock
from clarion.node.config import Config
from clarion.node.errors import RpcError
from clarion.plugins import hookimpl
from clarion.plugins.contexts import ReaderAccess
from clarion.plugins.http import HttpError, Request, Route
from clarion.plugins.rpc import ArgKind, RpcArg, RpcMethod

clarion_hook_api = "1.0"

NAME, STORE = "block sizes", "blocksizes"


class BlockSizes:
    """The index: a height leads to a size, 4 big-endian bytes each."""

    name = NAME
    store_name = STORE
    needs_spent = False

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Store the size."""
        batch.put(_number(block.height), _number(len(block.block.raw)))

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Forget it."""
        batch.delete(_number(block.height))


def block_size(context: ReaderAccess, height: int) -> int:
    """Return the size of a block in bytes. Raises RpcError for a height that the chain does not have."""
    if not 0 <= height < 2**32:
        raise RpcError(-8, "Block height out of range")
    context.wait_for_index(NAME, STORE)
    with context.index(STORE).snapshot() as view:
        size = view.get(_number(height))
    if size is None:
        raise RpcError(-8, "Block height out of range")
    return int.from_bytes(size, "big")


def sizes(request: Request) -> object:
    """Answer /v1/sizes/<height>."""
    if not request.rest.isdigit():
        raise HttpError(400, "a height expected")
    return {"size": block_size(request.context, int(request.rest))}


@hookimpl
def register_indexes(config: Config) -> Iterable[BlockSizes]:
    """Add the index. It catches up with the chain that is there already."""
    return [BlockSizes()]


@hookimpl
def register_rpc_methods(config: Config) -> Iterable[RpcMethod]:
    """Add `getblocksize`."""
    height = RpcArg("height", ArgKind.NUMBER, "The height", required=True)
    text = "Returns the size of a block in bytes."
    return [RpcMethod("getblocksize", block_size, text, (height,), "bytes", example="1000")]


@hookimpl
def register_routes(config: Config) -> Iterable[Route]:
    """Add /v1/sizes."""
    return [Route("/v1/sizes", sizes)]


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")
