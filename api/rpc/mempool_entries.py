"""RPC methods about single transactions of the mempool: getmempoolentry, getmempoolancestors, getmempooldescendants.

Owns: their answers and the declaration of an entry's members. Never: the pool.
"""

from collections.abc import Callable, Iterable
from typing import Any

from clarion.api.render.mempool import entry_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.entry_facts import entry_facts
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import Txid, hash_to_hex

_T = ResultType
_TXID = Arg("txid", ArgType.STR_HEX, "The transaction, which must be in the mempool", required=True)
_VERBOSE = Arg("verbose", ArgType.BOOL, "true for an object by txid, false for a list of txids", default=False)
_EXAMPLES = (('"txid"', '"txid"'),)

ENTRY_FIELDS = (
    Result(_T.NUM, "vsize", "virtual size that policy counts"),
    Result(_T.NUM, "weight", "weight (BIP141)"),
    Result(_T.NUM_TIME, "time", "when it entered, in Unix seconds"),
    Result(_T.NUM, "height", "height of the tip then"),
    Result(_T.NUM, "descendantcount", "descendants in the mempool, itself among them"),
    Result(_T.NUM, "descendantsize", "their virtual size"),
    Result(_T.NUM, "ancestorcount", "ancestors in the mempool, itself among them"),
    Result(_T.NUM, "ancestorsize", "their virtual size"),
    Result(_T.STR_HEX, "wtxid", "hash with its witness"),
    Result(_T.NUM, "chunkweight", "weight of its chunk, adjusted by signature operations"),
    Result(
        _T.OBJ,
        "fees",
        "in BTC",
        (
            Result(_T.STR_AMOUNT, "base", "the fee"),
            Result(_T.STR_AMOUNT, "modified", "with what prioritisetransaction added"),
            Result(_T.STR_AMOUNT, "ancestor", "modified fees of the ancestors, itself among them"),
            Result(_T.STR_AMOUNT, "descendant", "modified fees of the descendants, itself among them"),
            Result(_T.STR_AMOUNT, "chunk", "modified fees of its chunk"),
        ),
    ),
    Result(_T.ARR, "depends", "parents in the mempool", (Result(_T.STR_HEX, "", "a txid"),)),
    Result(_T.ARR, "spentby", "children in the mempool", (Result(_T.STR_HEX, "", "a txid"),)),
    Result(_T.BOOL, "unbroadcast", "whether no peer has asked for it yet"),
    Result(
        _T.BOOL,
        "bip125-replaceable",
        "whether it or an ancestor signals BIP125 (only with -deprecatedrpc=bip125)",
        optional=True,
    ),
)

TXIDS = Result(_T.ARR, "", "", (Result(_T.STR_HEX, "", "a txid"),), condition="for verbose = false")
BY_TXID = Result(
    _T.OBJ_DYN, "", "", (Result(_T.OBJ, "transactionid", "", ENTRY_FIELDS),), condition="for verbose = true"
)


def find_entry(pool: Mempool, txid: bytes) -> MempoolEntry:
    """Return a transaction's entry. Raises RpcError -5. Call it under the pool's lock."""
    entry = pool.get(Txid(txid))
    if entry is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Transaction not in mempool")
    return entry


def entries_json(ctx: NodeContext, choose: Callable[[], Iterable[MempoolEntry]]) -> dict[str, Any]:
    """Return entries by txid. `choose` is called under the pool's lock; what is shown is copied under it too."""
    pool = ctx.mempool.pool
    with_bip125 = "bip125" in ctx.config.deprecated_rpc
    with pool.lock:
        facts = [entry_facts(pool, entry, with_bip125=with_bip125) for entry in choose()]
    return {hash_to_hex(each.entry.txid): entry_json(each, with_bip125=with_bip125) for each in facts}


@rpc_method(
    "getmempoolentry",
    category="blockchain",
    where=NODE,
    description="Returns what is known of a transaction in the mempool.",
    args=[_TXID],
    results=Result(_T.OBJ, "", "", ENTRY_FIELDS),
    examples=_EXAMPLES,
)
def getmempoolentry(ctx: NodeContext, txid: str) -> dict[str, Any]:
    """Return one entry. Raises RpcError -5."""
    wanted, pool = parse_hash(txid, "txid"), ctx.mempool.pool
    (answer,) = entries_json(ctx, lambda: [find_entry(pool, wanted)]).values()
    return answer  # type: ignore[no-any-return]


def _relatives(ctx: NodeContext, verbose: bool, choose: Callable[[], Iterable[MempoolEntry]]) -> Any:
    """Return entries in the order of their txids."""

    def ordered() -> list[MempoolEntry]:
        return sorted(choose(), key=lambda entry: entry.txid)

    if verbose:
        return entries_json(ctx, ordered)
    with ctx.mempool.pool.lock:
        entries = ordered()
    return [hash_to_hex(entry.txid) for entry in entries]


@rpc_method(
    "getmempoolancestors",
    category="blockchain",
    where=NODE,
    description="Returns the ancestors of a transaction that are in the mempool.",
    args=[_TXID, _VERBOSE],
    results=[TXIDS, BY_TXID],
    examples=_EXAMPLES,
)
def getmempoolancestors(ctx: NodeContext, txid: str, verbose: bool) -> Any:
    """Return the ancestors without the transaction itself. Raises RpcError -5."""
    wanted, pool = parse_hash(txid, "txid"), ctx.mempool.pool
    return _relatives(ctx, verbose, lambda: pool.ancestors(find_entry(pool, wanted)))


@rpc_method(
    "getmempooldescendants",
    category="blockchain",
    where=NODE,
    description="Returns the descendants of a transaction that are in the mempool.",
    args=[_TXID, _VERBOSE],
    results=[TXIDS, BY_TXID],
    examples=_EXAMPLES,
)
def getmempooldescendants(ctx: NodeContext, txid: str, verbose: bool) -> Any:
    """Return the descendants without the transaction itself. Raises RpcError -5."""
    wanted, pool = parse_hash(txid, "txid"), ctx.mempool.pool
    return _relatives(
        ctx, verbose, lambda: [each for each in pool.descendants(find_entry(pool, wanted)) if each.txid != wanted]
    )
