"""Everything about one transaction that is decided without running its scripts and without weighing replacements.

Owns: the checks in the reference's order (PreChecks), with its reasons. Never: fees of what is replaced (`replacement`),
the rules themselves (consensus, `policy`). Used on the chain thread; from the staging on, under the pool's lock.
A transaction can be offered for free: what costs time must come late.
"""

from clarion.node.consensus.sigops import transaction_sigop_cost
from clarion.node.consensus.tx_check import check_transaction
from clarion.node.consensus.tx_verify import check_tx_inputs
from clarion.node.errors import TxInvalid
from clarion.node.mempool.accept.args import AcceptArgs
from clarion.node.mempool.accept.rejection import TxRejected, TxRejection
from clarion.node.mempool.accept.scene import Scene
from clarion.node.mempool.accept.script_step import POLICY_FLAGS
from clarion.node.mempool.accept.workspace import Subpackage, Workspace
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.graph import Level
from clarion.node.mempool.lock_points import calculate_lock_points, check_final_at_tip, check_sequence_locks_at_tip
from clarion.node.mempool.options import MempoolOptions
from clarion.node.mempool.policy.constants import MAX_STANDARD_TX_SIGOPS_COST, MIN_STANDARD_TX_NONWITNESS_SIZE
from clarion.node.mempool.policy.ephemeral import pre_check_ephemeral_tx
from clarion.node.mempool.policy.inputs import NONSTANDARD_INPUTS, validate_inputs_standardness
from clarion.node.mempool.policy.standard import is_standard_tx
from clarion.node.mempool.policy.truc import single_truc_checks
from clarion.node.mempool.policy.witness import is_witness_standard
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction

_REJECTION_OF_REASON = {
    "bad-txns-inputs-missingorspent": TxRejection.TX_MISSING_INPUTS,
    "bad-txns-premature-spend-of-coinbase": TxRejection.TX_PREMATURE_SPEND,
}
"""What consensus refuses for another reason than these will never be valid."""


def pre_checks(scene: Scene, args: AcceptArgs, sub: Subpackage, ws: Workspace) -> None:
    """Judge a transaction that `scene` has prefetched and stage it. Raises TxRejected."""
    check_alone(ws.tx, scene.pool.options)
    check_in_chain(scene, args, ws)
    check_in_pool(scene, args, sub, ws)


def check_alone(tx: Transaction, options: MempoolOptions) -> None:
    """Judge what the transaction says by itself. Raises TxRejected."""
    # 1. Consensus without context (bad-txns-…)
    try:
        check_transaction(tx)
    except TxInvalid as invalid:
        raise TxRejected(TxRejection.TX_CONSENSUS, invalid.reject_reason, invalid.debug) from None
    # 2. coinbase: only a block can hold one.
    if tx.is_coinbase:
        raise TxRejected(TxRejection.TX_CONSENSUS, "coinbase")
    # 3. Not standard (version, tx-size, scriptsig-…, scriptpubkey, dust, …)
    if options.require_standard:
        reason = is_standard_tx(tx, options)
        if reason is not None:
            raise TxRejected(TxRejection.TX_NOT_STANDARD, reason)
    # 4. tx-size-small: 64 bytes could pass for a node of a merkle tree (CVE-2017-12842).
    if tx.base_size < MIN_STANDARD_TX_NONWITNESS_SIZE:
        raise TxRejected(TxRejection.TX_NOT_STANDARD, "tx-size-small")


def check_in_chain(scene: Scene, args: AcceptArgs, ws: Workspace) -> None:
    """Judge what depends on the tip and on the coins, and note conflicts. Raises TxRejected."""
    tx, tip, options = ws.tx, scene.tip, scene.pool.options
    # 5. non-final
    if not check_final_at_tip(tip, tx):
        raise TxRejected(TxRejection.TX_PREMATURE_SPEND, "non-final")
    # 6. txn-already-in-mempool, txn-same-nonwitness-data-in-mempool
    # 7. bip125-replacement-disallowed
    _look_in_pool(scene.pool, args, ws)
    # 8. txn-already-known, bad-txns-inputs-missingorspent
    spent = _find_coins(scene, ws)
    # 9. non-BIP68-final
    ws.lock_points = calculate_lock_points(tip, tx, spent)
    if not check_sequence_locks_at_tip(tip, ws.lock_points):
        raise TxRejected(TxRejection.TX_PREMATURE_SPEND, "non-BIP68-final")
    # 10. Values and maturity of the inputs
    try:
        ws.base_fee_sat = check_tx_inputs(tx, spent, tip.height + 1)
    except TxInvalid as invalid:
        rejection = _REJECTION_OF_REASON.get(invalid.reject_reason, TxRejection.TX_CONSENSUS)
        raise TxRejected(rejection, invalid.reject_reason, invalid.debug) from None
    if options.require_standard:
        # 11. bad-txns-nonstandard-inputs
        fault = validate_inputs_standardness(tx, spent)
        if fault is not None:
            raise TxRejected(TxRejection.TX_INPUTS_NOT_STANDARD, NONSTANDARD_INPUTS, fault)
        # 12. bad-witness-nonstandard
        if tx.has_witness and not is_witness_standard(tx, spent):
            raise TxRejected(TxRejection.TX_WITNESS_MUTATED, "bad-witness-nonstandard")
    ws.sigop_cost = transaction_sigop_cost(tx, spent, POLICY_FLAGS)
    ws.spends_coinbase = any(coin.code & 1 for coin in spent)


def check_in_pool(scene: Scene, args: AcceptArgs, sub: Subpackage, ws: Workspace) -> None:
    """Stage the transaction and judge what depends on the rest of the pool. Raises TxRejected."""
    pool, options = scene.pool, scene.pool.options
    stage(scene, args, sub, ws)
    entry = ws.entry
    # 13. dust: nobody may have a reason to mine a transaction with ephemeral dust by itself.
    if options.require_standard:
        debug = pre_check_ephemeral_tx(ws.tx, options.dust_relay_feerate, ws.base_fee_sat, entry.fee_sat)
        if debug is not None:
            raise TxRejected(TxRejection.TX_NOT_STANDARD, "dust", debug)
    # 14. bad-txns-too-many-sigops
    if ws.sigop_cost > MAX_STANDARD_TX_SIGOPS_COST:
        raise TxRejected(TxRejection.TX_NOT_STANDARD, "bad-txns-too-many-sigops", str(ws.sigop_cost))
    # 15. mempool min fee not met, min relay fee not met. A package's fees are looked at later, all together.
    if not args.bypass_limits and not args.package_feerates:
        check_feerate(pool, entry.vsize, entry.fee_sat)
    # 16. TRUC-violation
    if not args.bypass_limits:
        _check_truc(pool, args, ws)
    # Any conflict of any member makes the whole subpackage a replacement.
    sub.replaces |= bool(ws.conflicts)


def stage(scene: Scene, args: AcceptArgs, sub: Subpackage, ws: Workspace) -> None:
    """Propose the addition of a transaction that passed `check_in_chain`."""
    ws.entry = sub.changes.stage_addition(
        ws.tx,
        ws.base_fee_sat,
        time=args.accept_time,
        height=scene.tip.height,
        # What a reorganisation brings back is older than its children that are in the pool already.
        sequence=0 if args.bypass_limits else scene.pool.sequence,
        spends_coinbase=ws.spends_coinbase,
        sigop_cost=ws.sigop_cost,
        lock_points=ws.lock_points,
    )


def check_feerate(pool: Mempool, vsize: int, modified_fee_sat: int) -> None:
    """Demand the fee that the pool asks for now, and the fee of relay. Raises TxRejected."""
    demanded = pool.min_fee().fee(vsize)
    if 0 < demanded > modified_fee_sat:
        raise TxRejected(TxRejection.TX_RECONSIDERABLE, "mempool min fee not met", f"{modified_fee_sat} < {demanded}")
    demanded = pool.options.min_relay_feerate.fee(vsize)
    # Without a fee of relay, a fee that was made negative is still too low.
    if modified_fee_sat < demanded:
        raise TxRejected(TxRejection.TX_RECONSIDERABLE, "min relay fee not met", f"{modified_fee_sat} < {demanded}")


def _look_in_pool(pool: Mempool, args: AcceptArgs, ws: Workspace) -> None:
    tx = ws.tx
    if pool.get_by_wtxid(tx.wtxid) is not None:
        raise TxRejected(TxRejection.TX_CONFLICT, "txn-already-in-mempool")
    if pool.get(tx.txid) is not None:
        raise TxRejected(TxRejection.TX_CONFLICT, "txn-same-nonwitness-data-in-mempool")
    spenders = pool.next_tx
    for txin in tx.inputs:
        other = spenders.get(txin.prevout)
        if other is not None:
            if not args.allow_replacement:
                raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "bip125-replacement-disallowed")
            ws.conflicts[other.txid] = other


def _find_coins(scene: Scene, ws: Workspace) -> list[Coin]:
    entries = scene.pool.entries
    spent = []
    parents: dict[Txid, MempoolEntry] = {}
    for txin in ws.tx.inputs:
        prevout = txin.prevout
        coin = scene.coins.get(prevout)
        if coin is None:
            if scene.confirmed(ws.tx):
                raise TxRejected(TxRejection.TX_CONFLICT, "txn-already-known")
            raise TxRejected(TxRejection.TX_MISSING_INPUTS, "bad-txns-inputs-missingorspent")
        spent.append(coin)
        txid: Txid = prevout[:32]  # type: ignore[assignment]
        parent = entries.get(txid)
        if parent is not None:
            parents[txid] = parent
    ws.spent = spent
    ws.parents = [parents[txid] for txid in sorted(parents)]
    return spent


def _check_truc(pool: Mempool, args: AcceptArgs, ws: Workspace) -> None:
    fault = single_truc_checks(
        ws.tx,
        ws.entry.vsize,
        ws.parents,
        ws.conflicts,
        lambda entry: pool.graph.ancestors(entry, Level.MAIN),
        pool.descendants,
    )
    if fault is None:
        return
    if fault.sibling is None or not args.allow_sibling_eviction:
        raise TxRejected(TxRejection.TX_MEMPOOL_POLICY, "TRUC-violation", fault.debug)
    # The sibling joins those that this transaction must outbid. That its sender allowed that is not asked for: TRUC is
    # always replaceable.
    sibling = pool.entries[fault.sibling.txid]
    ws.conflicts[sibling.txid] = sibling
    ws.sibling_eviction = True
