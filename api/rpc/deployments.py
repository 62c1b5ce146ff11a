"""The RPC method getdeploymentinfo.

Owns: how buried and signalled deployments are shown. Never: their rules (`node.consensus`).
"""

from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import parse_hash
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.consensus.deployments import block_script_flags, buried_active_after, buried_enabled
from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.versionbits import VersionBits
from clarion.node.errors import RpcError
from clarion.node.params.chain_params import ChainParams
from clarion.node.params.model import NEVER_ACTIVE
from clarion.node.primitives.ids import BlockHash, hash_to_hex
from clarion.node.script.flags import flag_names

_T = ResultType

BURIED = ("bip34", "bip66", "bip65", "csv", "segwit")
"""In the reference's order."""

_BIP9 = (
    Result(_T.NUM, "bit", "bit of the version that signals for it, while that matters", optional=True),
    Result(_T.NUM_TIME, "start_time", "median time past from which blocks may signal"),
    Result(_T.NUM_TIME, "timeout", "median time past at which it has failed if it is not locked in"),
    Result(_T.NUM, "min_activation_height", "lowest height at which its rules can hold"),
    Result(_T.STR, "status", 'its state at the block: "defined", "started", "locked_in", "active" or "failed"'),
    Result(_T.NUM, "since", "height of the first block with that state"),
    Result(_T.STR, "status_next", "its state at the next block"),
    Result(
        _T.OBJ,
        "statistics",
        "how blocks signal in this period, while that matters",
        (
            Result(_T.NUM, "period", "blocks of a period"),
            Result(_T.NUM, "threshold", "signalling blocks that lock it in", optional=True),
            Result(_T.NUM, "elapsed", "blocks of this period so far"),
            Result(_T.NUM, "count", "those that signal"),
            Result(_T.BOOL, "possible", "whether it can still be locked in in this period", optional=True),
        ),
        optional=True,
    ),
    Result(_T.STR, "signalling", '"#" for each block of this period that signals, "-" for the others', optional=True),
)

_DEPLOYMENT = Result(
    _T.OBJ,
    "xxxx",
    "name of the deployment",
    (
        Result(_T.STR, "type", '"buried" or "bip9"'),
        Result(_T.NUM, "height", "height of the first block under its rules, where that is known", optional=True),
        Result(_T.BOOL, "active", "whether its rules hold for the next block"),
        Result(_T.OBJ, "bip9", "how it is signalled (BIP9)", _BIP9, optional=True),
    ),
)


@rpc_method(
    "getdeploymentinfo",
    category="blockchain",
    where=NODE,
    description="Returns how far changes of the consensus rules are deployed.\n"
    "Those that hold from genesis are not among the deployments.",
    args=[Arg("blockhash", ArgType.STR_HEX, "The block to look from", hint="hash of current chain tip")],
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(_T.STR, "hash", "hash of the block"),
            Result(_T.NUM, "height", "height of the block"),
            Result(_T.ARR, "script_flags", "script flags of the block", (Result(_T.STR, "flag", "a flag"),)),
            Result(_T.OBJ_DYN, "deployments", "", (_DEPLOYMENT,)),
        ),
    ),
)
def getdeploymentinfo(ctx: NodeContext, blockhash: str | None) -> dict[str, Any]:
    """Return flags and deployments as of a block on any branch. Raises RpcError -5."""
    manager = ctx.chain.manager
    entry = manager.tip if blockhash is None else manager.lookup(BlockHash(parse_hash(blockhash, "blockhash")))
    if entry is None:
        raise RpcError(RpcCode.INVALID_ADDRESS_OR_KEY, "Block not found")
    # The states are walked without the chain lock: what lies behind a block never changes.
    return deployment_info(entry, ctx.params)


def deployment_info(entry: ChainPosition, params: ChainParams) -> dict[str, Any]:
    """Return the answer of `getdeploymentinfo` for a block."""
    deployments: dict[str, Any] = {
        name: {
            "type": "buried",
            "active": buried_active_after(entry, params, name),
            "height": params.buried_height(name),
        }
        for name in BURIED
        if buried_enabled(params, name)
    }
    versionbits = VersionBits(params)
    for name, deployment in params.deployments.items():
        if deployment.start_time != NEVER_ACTIVE:
            deployments[name] = _bip9_json(versionbits, params, entry, name)
    return {
        "hash": hash_to_hex(entry.hash),
        "height": entry.height,
        "script_flags": flag_names(block_script_flags(entry, params)),
        "deployments": deployments,
    }


def _bip9_json(versionbits: VersionBits, params: ChainParams, position: ChainPosition, name: str) -> dict[str, Any]:
    info = versionbits.info(position, name)
    deployment = params.deployments[name]
    bip9: dict[str, Any] = {} if info.statistics is None else {"bit": deployment.bit}
    bip9 |= {
        "start_time": deployment.start_time,
        "timeout": deployment.timeout,
        "min_activation_height": deployment.min_activation_height,
        "status": info.state.value,
        "since": info.since,
        "status_next": info.next_state.value,
    }
    if info.statistics is not None:
        statistics = info.statistics
        bip9["statistics"] = {
            "period": statistics.period,
            "elapsed": statistics.elapsed,
            "count": statistics.count,
        }
        if statistics.threshold > 0 or statistics.possible:
            bip9["statistics"] |= {"threshold": statistics.threshold, "possible": statistics.possible}
        bip9["signalling"] = "".join("#" if signals else "-" for signals in info.signalling)
    answer: dict[str, Any] = {"type": "bip9"}
    if info.active_since is not None:
        answer["height"] = info.active_since
    answer["active"] = info.active_since is not None and info.active_since <= position.height + 1
    answer["bip9"] = bip9
    return answer
