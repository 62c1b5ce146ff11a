"""The operator's own rules: what they are shown of a transaction, and when they are asked.

Owns: the view, and looking at the chain for it. Never: the rules, which `node.app` brings from plugins. They are asked on
the caller's thread, before the chain thread judges; no lock is held meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.prechecks import check_alone, check_in_chain
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.workspace import Workspace
from clarion.node.mempool.policy.size import virtual_size
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.transaction import Transaction

REJECT_REASON = "operator-policy"


@dataclass(frozen=True, slots=True)
class TransactionView:
    """A transaction that may come into the mempool. Treat everything as immutable.

    `spent` are the coins that its inputs spend, in their order; `fee_sat` is its fee in satoshis, `vsize` its virtual
    size. It holds for the chain whose tip is `tip_hash` (internal order) at `tip_height`.
    """

    tx: Transaction
    spent: Sequence[Coin]
    fee_sat: int
    vsize: int
    tip_height: int
    tip_hash: BlockHash


OperatorPolicy = Callable[[TransactionView], str | None]
"""Returns why a transaction is not wanted, None if it may come in."""


def look(scene: Scene, args: AcceptArgs, txs: Sequence[Transaction]) -> list[TransactionView]:
    """Return views of those that are not in the pool and that neither they themselves nor the chain speak against.

    Later ones may spend the outputs of earlier ones. Used on the chain thread.
    """
    scene.prefetch(txs)
    views = []
    for tx in txs:
        if scene.pool.get(tx.txid) is None:
            ws = Workspace(tx)
            try:
                check_alone(tx, scene.pool.options)
                check_in_chain(scene, args, ws)
            except TxRejected:
                continue  # it is refused anyway, with that reason
            size = virtual_size(tx.weight, ws.sigop_cost, scene.pool.options.bytes_per_sigop)
            views.append(TransactionView(tx, tuple(ws.spent), ws.base_fee_sat, size, scene.tip.height, scene.tip.hash))
        scene.coins.add_package_transaction(tx)
    return views


def objection(policy: OperatorPolicy, views: Iterable[TransactionView]) -> tuple[Transaction, TxRejected] | None:
    """Return the first transaction that is not wanted, with the reason."""
    for view in views:
        reason = policy(view)
        if reason is not None:
            return view.tx, TxRejected(TxRejection.TX_NOT_STANDARD, REJECT_REASON, reason)
    return None
