"""Which scripts of a package are worth running before it is judged.

Owns: the guess. Never: the verdict: what is left out or guessed wrongly is run when the package is judged.
Used on the chain thread.
"""

from clarion.node.consensus.connect import ScriptJob
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.prechecks import check_alone, check_feerate, check_in_chain
from clarion.node.mempool.accept.rejection import TxRejected
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.workspace import Workspace
from clarion.node.mempool.policy.packages import Package, is_well_formed_package
from clarion.node.mempool.policy.size import virtual_size


def scripts_to_warm(scene: Scene, args: AcceptArgs, package: Package) -> list[ScriptJob]:
    """Return the script checks of the members that may come in, up to the first that can't.

    None if the package pays too little as a whole: then its sender must not have this node work for it.
    """
    if is_well_formed_package(package) is not None:
        return []
    scene.prefetch(package)
    found = []
    try:
        for tx in package:
            if scene.pool.get(tx.txid) is None:
                ws = Workspace(tx)
                check_alone(tx, scene.pool.options)
                check_in_chain(scene, args, ws)
                found.append(ws)
            scene.coins.add_package_transaction(tx)
        _check_fees(scene, found)
    except TxRejected:
        return []
    return [ScriptJob(ws.tx, ws.spent, 0) for ws in found]


def _check_fees(scene: Scene, members: list[Workspace]) -> None:
    pool = scene.pool
    vsize = sum(virtual_size(ws.tx.weight, ws.sigop_cost, pool.options.bytes_per_sigop) for ws in members)
    check_feerate(pool, vsize, sum(ws.base_fee_sat + pool.fee_delta(ws.tx.txid) for ws in members))
