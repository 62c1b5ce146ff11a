"""The mempool as JSON.

Owns: the members of `getmempoolentry`, `getmempoolinfo` and `getmempoolcluster`. Never: looking at the pool.
"""

from collections.abc import Sequence
from typing import Any

from clarion.api.render.numbers import amount_json
from clarion.node.mempool.entry_facts import ChunkFacts, EntryFacts
from clarion.node.primitives.ids import hash_to_hex


def entry_json(facts: EntryFacts, *, with_bip125: bool = False) -> dict[str, Any]:
    """Return an entry as `getmempoolentry` shows it; only orjson can encode the result.

    `with_bip125` adds the member that `-deprecatedrpc=bip125` asks for.
    """
    entry = facts.entry
    out: dict[str, Any] = {
        "vsize": entry.vsize,
        "weight": entry.tx.weight,
        "time": entry.time,
        "height": entry.height,
        "descendantcount": facts.descendants.count,
        "descendantsize": facts.descendants.vsize,
        "ancestorcount": facts.ancestors.count,
        "ancestorsize": facts.ancestors.vsize,
        "wtxid": hash_to_hex(entry.wtxid),
        "chunkweight": facts.chunk.size,
        "fees": {
            "base": amount_json(entry.base_fee_sat),
            "modified": amount_json(facts.modified_fee_sat),
            "ancestor": amount_json(facts.ancestors.fees_sat),
            "descendant": amount_json(facts.descendants.fees_sat),
            "chunk": amount_json(facts.chunk.fee),
        },
        # One list is in the order of the hashes as they are shown, the other in that of their bytes, as in the reference.
        "depends": sorted(hash_to_hex(txid) for txid in facts.parents),
        "spentby": [hash_to_hex(txid) for txid in facts.children],
        "unbroadcast": facts.unbroadcast,
    }
    if with_bip125:
        out["bip125-replaceable"] = facts.replaceable
    return out


def cluster_json(chunks: Sequence[ChunkFacts]) -> dict[str, Any]:
    """Return a cluster as `getmempoolcluster` shows it; only orjson can encode the result."""
    return {
        "clusterweight": sum(chunk.feerate.size for chunk in chunks),
        "txcount": sum(len(chunk.txids) for chunk in chunks),
        "chunks": [
            {
                "chunkfee": amount_json(chunk.feerate.fee),
                "chunkweight": chunk.feerate.size,
                "txs": [hash_to_hex(txid) for txid in chunk.txids],
            }
            for chunk in chunks
        ],
    }
