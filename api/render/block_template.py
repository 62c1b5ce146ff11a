"""Block templates as JSON (BIP22, BIP23, BIP9, BIP145).

Owns: the members of the answer and their order. Never: making templates, which rules a client must know.
"""

from collections.abc import Collection
from typing import Any

from clarion.node.consensus.constants import (
    MAX_BLOCK_SERIALIZED_SIZE,
    MAX_BLOCK_SIGOPS_COST,
    MAX_BLOCK_WEIGHT,
    WITNESS_SCALE_FACTOR,
)
from clarion.node.consensus.deployments import buried_active_after
from clarion.node.consensus.pow import decode_compact
from clarion.node.consensus.versionbits import ThresholdState
from clarion.node.consensus.witness import witness_commitment_index
from clarion.node.mining.template import BlockTemplate
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import hash_to_hex


def template_json(
    template: BlockTemplate, params: ChainParams, now: int, client_rules: Collection[str]
) -> dict[str, Any]:
    """Return the answer of `getblocktemplate` at the time `now` (Unix seconds) for a client that knows these rules."""
    header = template.header_at(now, params)
    segwit = buried_active_after(template.prev, params, "segwit")
    # Before segwit, limits and costs are counted without its scale.
    scale = 1 if segwit else WITNESS_SCALE_FACTOR
    version, available, active = _deployments(template, params, client_rules)
    answer: dict[str, Any] = {
        "capabilities": ["proposal"],
        "version": version,
        "rules": _buried_rules(params, segwit) + active,
        "vbavailable": available,
        "vbrequired": 0,
        "previousblockhash": hash_to_hex(header.prev_hash),
        "transactions": _transactions(template, scale),
        "coinbaseaux": {},
        "coinbasevalue": template.block.txs[0].outputs[0].value,
        "longpollid": f"{hash_to_hex(header.prev_hash)}{template.pool_updates}",
        "target": f"{decode_compact(header.bits)[0]:064x}",
        "mintime": template.min_time,
        "mutable": ["time", "transactions", "prevblock"],
        "noncerange": "00000000ffffffff",
        "sigoplimit": MAX_BLOCK_SIGOPS_COST // scale,
        "sizelimit": MAX_BLOCK_SERIALIZED_SIZE // scale,
    }
    if segwit:
        answer["weightlimit"] = MAX_BLOCK_WEIGHT
    answer |= {"curtime": header.time, "bits": f"{header.bits:08x}", "height": template.height}
    if params.signet_challenge is not None:
        answer["signet_challenge"] = params.signet_challenge.hex()
    commitment = witness_commitment_index(template.block)
    if commitment is not None:
        answer["default_witness_commitment"] = template.block.txs[0].outputs[commitment].script_pubkey.hex()
    return answer


def _buried_rules(params: ChainParams, segwit: bool) -> list[str]:
    rules = ["csv"]
    if segwit:
        rules += ["!segwit", "taproot"]
    if params.signet_challenge is not None:
        rules.append("!signet")
    return rules


def _deployments(
    template: BlockTemplate, params: ChainParams, client_rules: Collection[str]
) -> tuple[int, dict[str, int], list[str]]:
    """Return (version, bit of each deployment that can be signalled for, active deployments)."""
    version = template.block.header.version
    available: dict[str, int] = {}
    active = []
    for wanted in (ThresholdState.STARTED, ThresholdState.LOCKED_IN, ThresholdState.ACTIVE):
        for name in sorted(name for name, state in template.deployments.items() if state is wanted):
            deployment = params.deployments[name]
            # BIP9: a rule that the client must know to use the template has a mark in front.
            shown = name if deployment.gbt_optional_rule else f"!{name}"
            if wanted is ThresholdState.ACTIVE:
                active.append(shown)
                continue
            available[shown] = deployment.bit
            if wanted is ThresholdState.LOCKED_IN:
                version |= deployment.mask
            if not deployment.gbt_optional_rule and name not in client_rules:
                version &= ~deployment.mask
    return version, available, active


def _transactions(template: BlockTemplate, scale: int) -> list[dict[str, Any]]:
    txs = template.block.txs
    places: dict[bytes, int] = {tx.txid: place for place, tx in enumerate(txs)}
    rows = []
    for place, tx in enumerate(txs[1:], 1):
        parents = (places.get(txin.prevout[:32], place) for txin in tx.inputs)
        rows.append(
            {
                "data": tx.raw.hex(),
                "txid": hash_to_hex(tx.txid),
                "hash": hash_to_hex(tx.wtxid),
                "depends": [parent for parent in parents if parent < place],
                "fee": template.fees[place - 1],
                "sigops": template.sigop_costs[place - 1] // scale,
                "weight": tx.weight,
            }
        )
    return rows
