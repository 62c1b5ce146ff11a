"""Making an accepted change of the pool real.

Owns: applying the change set and what the log says of replacements. Never: judging.
Used on the chain thread, under the pool's lock.
"""

import logging

from clarion.node.consensus.tx_notes import note_checked
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.script_step import POLICY_FLAGS
from clarion.node.mempool.accept.workspace import Subpackage, Workspace
from clarion.node.mempool.policy.packages import package_hash
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction

logger = logging.getLogger(__name__)


def enter(sub: Subpackage) -> list[Transaction]:
    """Apply the change set and return the transactions that left for it."""
    replaced = [entry.tx for entry in sub.changes.removed]
    if replaced and logger.isEnabledFor(logging.DEBUG):
        _log_replaced(sub)
    sub.changes.apply()
    return replaced


def tell(scene: Scene, ws: Workspace, *, limits_bypassed: bool = False, in_package: bool = False) -> None:
    """Tell that a transaction is in the pool now."""
    scene.scripts.entered(ws.tx.wtxid, POLICY_FLAGS)
    note_checked(ws.tx, ws.spent, ws.base_fee_sat)
    scene.pool.tell_added(
        ws.entry, ws.spent, limits_bypassed=limits_bypassed, in_package=in_package, chain_current=scene.current
    )


def _log_replaced(sub: Subpackage) -> None:
    added = [entry.tx for entry in sub.changes.added]
    if len(added) == 1:
        named = f"New tx {hash_to_hex(added[0].txid)} (wtxid={hash_to_hex(added[0].wtxid)}, "
    else:
        named = f"New package {hash_to_hex(package_hash(added))} with {len(added)} txs, "
    for entry in sub.changes.removed:
        logger.debug(
            "replacing mempool tx %s (wtxid=%s, fees=%d, vsize=%d). %sfees=%d, vsize=%d",
            hash_to_hex(entry.txid),
            hash_to_hex(entry.wtxid),
            entry.base_fee_sat,
            entry.vsize,
            named,
            sub.total_modified_fee_sat,
            sub.total_vsize,
        )
    logger.debug(
        "replaced %d mempool transactions with %d new one(s) for %d additional fees, %d delta bytes",
        len(sub.changes.removed),
        len(added),
        sub.total_modified_fee_sat - sub.conflicting_fee_sat,
        sub.total_vsize - sub.conflicting_vsize,
    )
