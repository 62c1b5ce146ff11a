"""RPC methods about fees: estimatesmartfee and estimaterawfee.

Owns: their arguments, answers and errors. Never: estimating.
"""

from typing import Any

import orjson

from clarion.api.render.numbers import amount_json, number_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_int
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError
from clarion.node.mempool.feerate import FeeRate
from clarion.node.mempool.fees.buckets import BucketRange, round_half_away
from clarion.node.mempool.fees.estimator import FeeEstimator, Horizon

_T = ResultType
_MODES = ("unset", "economical", "conservative")
_CONF_TARGET = Arg("conf_target", ArgType.NUM, "Within how many blocks (1 to 1008)", required=True)
_ERRORS = Result(_T.ARR, "errors", "why there is no estimate", (Result(_T.STR, "", "error"),), optional=True)


def _estimator_of(ctx: NodeContext) -> FeeEstimator:
    if ctx.fee_estimator is None:
        raise RpcError(RpcCode.INTERNAL_ERROR, "Fee estimation disabled")
    return ctx.fee_estimator


def _conf_target(estimator: FeeEstimator, value: Any) -> int:
    target, highest = parse_int(value), estimator.highest_target(Horizon.LONG)
    if not 1 <= target <= highest:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"Invalid conf_target, must be between 1 and {highest}")
    return target


@rpc_method(
    "estimatesmartfee",
    category="util",
    where=NODE,
    description="Estimates the fee rate with which a transaction is probably mined within some blocks, for virtual sizes\n"
    "(BIP141).",
    args=[
        _CONF_TARGET,
        Arg(
            "estimate_mode",
            ArgType.STR,
            "economical follows a falling market soon, conservative looks at longer times and may be higher;\n"
            "unset is economical",
            default="economical",
        ),
    ],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.NUM, "feerate", "fee rate in BTC/kvB", optional=True),
            _ERRORS,
            Result(_T.NUM, "blocks", "the number of blocks that the estimate holds for"),
        ),
    ),
    examples=(("6", "6"),),
)
def estimatesmartfee(ctx: NodeContext, conf_target: int, estimate_mode: str) -> dict[str, Any]:
    """Return the estimate, at least what the pool demands. Raises RpcError -32603 where fees are not estimated."""
    estimator = _estimator_of(ctx)
    target = _conf_target(estimator, conf_target)
    mode = estimate_mode.lower()
    if mode not in _MODES:
        names = '", "'.join(_MODES)
        raise RpcError(RpcCode.INVALID_PARAMETER, f'Invalid estimate_mode parameter, must be one of: "{names}"')
    estimate = estimator.estimate_smart_fee(target, conservative=mode == "conservative")
    if estimate.feerate == FeeRate(0):
        return {"errors": ["Insufficient data or no feerate found"], "blocks": estimate.blocks}
    pool = ctx.mempool.pool
    with pool.lock:
        demanded = max(pool.min_fee(), pool.options.min_relay_feerate)
    feerate = max(estimate.feerate, demanded)
    return {"feerate": amount_json(feerate.sat_per_kvb), "blocks": estimate.blocks}


def _bucket_result(key: str, description: str) -> Result:
    return Result(
        _T.OBJ,
        key,
        description,
        (
            Result(_T.NUM, "startrange", "lowest fee rate, satoshis per kvB"),
            Result(_T.NUM, "endrange", "highest fee rate"),
            Result(_T.NUM, "withintarget", "transactions that were mined within the target"),
            Result(_T.NUM, "totalconfirmed", "transactions that were mined at any time"),
            Result(_T.NUM, "inmempool", "transactions that have been waiting for longer than the target"),
            Result(_T.NUM, "leftmempool", "transactions that left the mempool unmined after the target"),
        ),
        optional=True,
    )


def _horizon_result(key: str, description: str) -> Result:
    return Result(
        _T.OBJ,
        key,
        description,
        (
            Result(_T.NUM, "feerate", "fee rate in BTC/kvB", optional=True),
            Result(_T.NUM, "decay", "what a block leaves of the earlier ones' weight"),
            Result(_T.NUM, "scale", "resolution of targets in blocks"),
            _bucket_result("pass", "the lowest range of fee rates that passed"),
            _bucket_result("fail", "the highest range of fee rates that failed"),
            _ERRORS,
        ),
        optional=True,
    )


@rpc_method(
    "estimaterawfee",
    category="hidden",
    where=NODE,
    description="Shows what fee estimates are made from. It depends on how they are made and may change with it.",
    args=[
        _CONF_TARGET,
        Arg("threshold", ArgType.NUM, "Share of transactions that must have been mined in time", default=0.95),
    ],
    results=Result(
        _T.OBJ,
        "",
        "each horizon that knows the target",
        (
            _horizon_result("short", "the last hours"),
            _horizon_result("medium", "the last days"),
            _horizon_result("long", "the last weeks"),
        ),
    ),
    examples=(("6 0.9", "6, 0.9"),),
)
def estimaterawfee(ctx: NodeContext, conf_target: int, threshold: float) -> dict[str, Any]:
    """Return the estimate of each horizon and its buckets. Raises RpcError -32603 where fees are not estimated."""
    estimator = _estimator_of(ctx)
    target = _conf_target(estimator, conf_target)
    if not 0 <= threshold <= 1:
        raise RpcError(RpcCode.INVALID_PARAMETER, "Invalid threshold")
    return {
        horizon.value: _horizon_json(estimator, target, threshold, horizon)
        for horizon in Horizon
        if target <= estimator.highest_target(horizon)
    }


def _horizon_json(estimator: FeeEstimator, target: int, threshold: float, horizon: Horizon) -> dict[str, Any]:
    feerate, result = estimator.estimate_raw_fee(target, threshold, horizon)
    assert result is not None, "the horizon knows the target"
    answer: dict[str, Any] = {"decay": number_json(result.decay), "scale": result.scale}
    if feerate == FeeRate(0):
        errors = ["Insufficient data or no feerate found which meets threshold"]
        return {**answer, "fail": _bucket_json(result.failed), "errors": errors}
    answer = {"feerate": amount_json(feerate.sat_per_kvb), **answer, "pass": _bucket_json(result.passed)}
    # Without a failed range all of them passed.
    if result.failed.start != -1:
        answer["fail"] = _bucket_json(result.failed)
    return answer


def _bucket_json(bucket: BucketRange) -> dict[str, orjson.Fragment]:
    def hundredths(value: float) -> orjson.Fragment:
        return number_json(round_half_away(value * 100.0) / 100.0)

    return {
        "startrange": number_json(round_half_away(bucket.start)),
        "endrange": number_json(round_half_away(bucket.end)),
        "withintarget": hundredths(bucket.within_target),
        "totalconfirmed": hundredths(bucket.total_confirmed),
        "inmempool": hundredths(bucket.in_mempool),
        "leftmempool": hundredths(bucket.left_mempool),
    }
