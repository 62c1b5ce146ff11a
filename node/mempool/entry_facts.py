"""What clients are told of the pool's entries, copied while nothing changes so that it can be shown without the lock.

Owns: the values. Never: how they are shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.policy.rbf import signals_opt_in_rbf
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.ids import Txid


@dataclass(frozen=True, slots=True)
class Relatives:
    """An entry's ancestors or descendants, itself among them: number, virtual size, modified fees in satoshis."""

    count: int
    vsize: int
    fees_sat: int


class EntryFacts(NamedTuple):
    """An entry as it was in one moment. `chunk` holds the fees in satoshis and the weight of its chunk.

    `parents` and `children` are in the order of their ids. `replaceable`, if asked for, says whether it or an ancestor
    signals BIP125.
    """

    entry: MempoolEntry
    modified_fee_sat: int
    ancestors: Relatives
    descendants: Relatives
    chunk: FeeFrac
    parents: Sequence[Txid]
    children: Sequence[Txid]
    unbroadcast: bool
    replaceable: bool


def entry_facts(pool: Mempool, entry: MempoolEntry, *, with_bip125: bool = False) -> EntryFacts:
    """Return what is known of an entry. Call it under the pool's lock."""
    parents = pool.parents(entry)
    children = pool.children(entry)
    alone = (entry,)
    ancestors = (*pool.ancestors(entry), entry) if parents else alone
    descendants = pool.descendants(entry) if children else alone
    return EntryFacts(
        entry=entry,
        modified_fee_sat=entry.fee_sat,
        ancestors=_relatives(ancestors),
        descendants=_relatives(descendants),
        chunk=pool.graph.main_chunk_feerate(entry),
        parents=[parent.txid for parent in parents],
        children=[child.txid for child in children],
        unbroadcast=entry.txid in pool.unbroadcast,
        replaceable=with_bip125 and any(signals_opt_in_rbf(each.tx) for each in ancestors),
    )


def _relatives(entries: Iterable[MempoolEntry]) -> Relatives:
    count = vsize = fees_sat = 0
    for entry in entries:
        count += 1
        vsize += entry.vsize
        fees_sat += entry.fee_sat
    return Relatives(count, vsize, fees_sat)


class ChunkFacts(NamedTuple):
    """Transactions that would be mined together, with their fees in satoshis and their weight."""

    feerate: FeeFrac
    txids: Sequence[Txid]


def cluster_chunks(pool: Mempool, entry: MempoolEntry) -> list[ChunkFacts]:
    """Return the chunks of the cluster that `entry` belongs to, in mining order. Call it under the pool's lock."""
    chunks: list[ChunkFacts] = []
    missing = 0
    txids: list[Txid] = []
    for each in pool.cluster(entry):
        if not missing:
            # The graph gives no limits of chunks, but the weight of a transaction's chunk says where it ends.
            feerate = pool.graph.main_chunk_feerate(each)
            missing, txids = feerate.size, []
            chunks.append(ChunkFacts(feerate, txids))
        txids.append(each.txid)
        missing -= each.weight
    return chunks
