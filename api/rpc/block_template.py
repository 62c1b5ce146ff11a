"""RPC method getblocktemplate (BIP22, BIP23, BIP9, BIP145).

Owns: the request, long polling, and the answer to a proposal. Never: making templates, judging blocks.
"""

import re
from collections.abc import Collection
from functools import partial
from typing import Any

from clarion.api.render.block_template import template_json
from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.mining import bip22_answer, decode_block
from clarion.api.rpc.network import connection_count
from clarion.api.rpc.parse import parse_hash, parse_str
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.api.rpc.waiting import Waiting
from clarion.node.consensus.versionbits import ThresholdState
from clarion.node.errors import BlockInvalid, RpcError
from clarion.node.mining.template import BlockTemplate
from clarion.node.primitives.ids import BlockHash
from clarion.node.storage import block_status

_T = ResultType

FIRST_PATIENCE_S = 60.0
"""A long poll asks after new transactions for the first time after this long,"""
NEXT_PATIENCE_S = 10.0
"""and then each time after this long."""

_LEADING_NUMBER = re.compile(r"[ \f\n\r\t\v]*(?:\+(?!-))?(-?[0-9]{1,40})")

_REQUEST = Arg(
    "template_request",
    ArgType.OBJ,
    "What is asked for",
    required=True,
    inner=(
        Arg("mode", ArgType.STR, '"template", which is also meant without it, or "proposal" (BIP23)'),
        Arg(
            "capabilities",
            ArgType.ARR,
            "What the client can do",
            inner=(
                Arg("str", ArgType.STR, "'longpoll', 'coinbasevalue', 'proposal', 'serverlist', 'workid': no effect"),
            ),
        ),
        Arg(
            "rules",
            ArgType.ARR,
            "Soft forks that the client knows",
            required=True,
            inner=(
                Arg("segwit", ArgType.STR, "(literal) the client knows segwit", required=True),
                Arg("str", ArgType.STR, "another soft fork"),
            ),
        ),
        Arg("longpollid", ArgType.STR, "Answer once the template of this id is out of date"),
        Arg("data", ArgType.STR_HEX, 'the block to check, for mode="proposal"'),
    ),
)

_TRANSACTION = Result(
    _T.OBJ,
    "",
    "",
    (
        Result(_T.STR_HEX, "data", "the transaction"),
        Result(_T.STR_HEX, "txid", "its txid"),
        Result(_T.STR_HEX, "hash", "its wtxid"),
        Result(
            _T.ARR,
            "depends",
            "earlier transactions that must be in the block if this one is",
            (Result(_T.NUM, "", "number in this list, from 1"),),
        ),
        Result(_T.NUM, "fee", "fee in satoshis"),
        Result(_T.NUM, "sigops", "sigop cost as block limits count it"),
        Result(_T.NUM, "weight", "weight as block limits count it"),
    ),
)

_TEMPLATE = Result(
    _T.OBJ,
    "",
    "",
    (
        Result(_T.ARR, "capabilities", "", (Result(_T.STR, "", "a feature of the server"),)),
        Result(_T.NUM, "version", "preferred version of the block"),
        Result(_T.ARR, "rules", "rules that are in force", (Result(_T.STR, "", "name of a rule as in BIP9"),)),
        Result(
            _T.OBJ_DYN,
            "vbavailable",
            "deployments that can be signalled for (BIP9)",
            (Result(_T.NUM, "rulename", "its bit in the version"),),
        ),
        Result(_T.NUM, "vbrequired", "bits of the version that must be set"),
        Result(_T.STR, "previousblockhash", "hash of the tip"),
        Result(_T.ARR, "transactions", "the block's transactions without the coinbase", (_TRANSACTION,)),
        Result(
            _T.OBJ_DYN, "coinbaseaux", "what the coinbase's script should hold", (Result(_T.STR_HEX, "key", "a value"),)
        ),
        Result(_T.NUM, "coinbasevalue", "most that the coinbase may pay, fees included, in satoshis"),
        Result(_T.STR, "longpollid", "id for a long poll"),
        Result(_T.STR, "target", "the target"),
        Result(_T.NUM_TIME, "mintime", "earliest time of the block, BIP94's rule included"),
        Result(_T.ARR, "mutable", "what the client may change", (Result(_T.STR, "", "'time', 'transactions', …"),)),
        Result(_T.STR_HEX, "noncerange", "valid nonces"),
        Result(_T.NUM, "sigoplimit", "limit of sigops"),
        Result(_T.NUM, "sizelimit", "limit of the size"),
        Result(_T.NUM, "weightlimit", "limit of the weight", optional=True),
        Result(_T.NUM_TIME, "curtime", "time of the block"),
        Result(_T.STR, "bits", "the target in compact form"),
        Result(_T.NUM, "height", "height of the block"),
        Result(_T.STR_HEX, "signet_challenge", "script that signet blocks must satisfy", optional=True),
        Result(_T.STR_HEX, "default_witness_commitment", "commitment to the unchanged template", optional=True),
    ),
    condition="otherwise",
)


@rpc_method(
    "getblocktemplate",
    category="mining",
    where=NODE,
    waits=True,
    description="Returns what a miner needs to build a block, or judges a block that he proposes.\n"
    "See BIP22, BIP23, BIP9 and BIP145.",
    args=[_REQUEST],
    results=[
        Result(_T.NONE, condition="for mode='proposal', if the block is good"),
        Result(_T.STR, "", "the reason as in BIP22", condition="for mode='proposal', if it is not"),
        _TEMPLATE,
    ],
    examples=(('\'{"rules": ["segwit"]}\'', '{"rules": ["segwit"]}'),),
)
def getblocktemplate(ctx: NodeContext, template_request: dict[str, Any]) -> Any:
    """Return a template, now or when there is a new one, or the verdict on a proposed block. Raises RpcError."""
    mode = template_request.get("mode")
    if mode is not None and not isinstance(mode, str):
        raise _invalid_mode()
    if mode == "proposal":
        return _judge(ctx, template_request.get("data"))
    rules = template_request.get("rules")
    known = {parse_str(rule) for rule in rules} if isinstance(rules, list) else set()
    if mode not in (None, "template"):
        raise _invalid_mode()
    _check_synchronised(ctx)
    poll_id = template_request.get("longpollid")
    if poll_id is None:
        return _template(ctx, known)
    watched, updates = _parse_poll_id(ctx, poll_id)
    return _poll(ctx, watched, updates, known, FIRST_PATIENCE_S)


def _invalid_mode() -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMETER, "Invalid mode")


def _check_synchronised(ctx: NodeContext) -> None:
    if ctx.params.is_test_chain:
        return
    if connection_count(ctx) == 0:
        raise RpcError(RpcCode.CLIENT_NOT_CONNECTED, "Clarion is not connected!")
    if ctx.chain.manager.initial_download:
        raise RpcError(RpcCode.CLIENT_IN_INITIAL_DOWNLOAD, "Clarion is in initial sync and waiting for blocks...")


def _judge(ctx: NodeContext, data: Any) -> str | None:
    """Return None for a block that could be the next one but for its proof of work, else BIP22's word."""
    if not isinstance(data, str):
        raise RpcError(RpcCode.TYPE_ERROR, "Missing data String key for proposal")
    block = decode_block(data)
    manager = ctx.chain.manager
    known = manager.lookup(block.hash)
    if known is not None:
        if known.is_valid(block_status.VALID_SCRIPTS):
            return "duplicate"
        return "duplicate-invalid" if known.failed else "duplicate-inconclusive"
    try:
        ctx.chain.submit(manager.dry_run, block).result()
    except BlockInvalid as invalid:
        return bip22_answer(invalid)
    return None


def _parse_poll_id(ctx: NodeContext, poll_id: Any) -> tuple[BlockHash, int]:
    """Return the tip and the number of the pool's changes that the id's template was made at."""
    if not isinstance(poll_id, str):
        # Said nowhere, and useful for tests: an id of another type means the present.
        return ctx.chain.manager.tip.hash, ctx.templates.pool_updates
    return BlockHash(parse_hash(poll_id[:64], "longpollid")), _leading_number(poll_id[64:])


def _leading_number(text: str) -> int:
    """Return the number that the text begins with as the reference's atoi reads it, cut to 32 bits; 0 without one."""
    match = _LEADING_NUMBER.match(text)
    number = int(match[1]) if match else 0
    return max(-(1 << 63), min(number, (1 << 63) - 1)) % (1 << 32)


def _poll(ctx: NodeContext, watched: BlockHash, updates: int, rules: Collection[str], patience_s: float) -> Waiting:
    """Wait until the tip is not `watched`; when the patience ends, new transactions count too."""
    manager = ctx.chain.manager
    ready = manager.tip_watch.when(lambda: manager.tip.hash != watched, patience_s)
    return Waiting(ready, partial(_go_on, ctx, watched, updates, rules))


def _go_on(ctx: NodeContext, watched: BlockHash, updates: int, rules: Collection[str]) -> Any:
    manager = ctx.chain.manager
    if manager.tip_watch.stopped or ctx.stopping():
        raise RpcError(RpcCode.CLIENT_NOT_CONNECTED, "Shutting down")
    if manager.tip.hash == watched and ctx.miner.pool_updates == updates:
        return _poll(ctx, watched, updates, rules, NEXT_PATIENCE_S)
    return _template(ctx, rules)


def _template(ctx: NodeContext, rules: Collection[str]) -> dict[str, Any]:
    if ctx.params.signet_challenge is not None and "signet" not in rules:
        raise _rule_is_missing("signet", '["segwit", "signet"]')
    if "segwit" not in rules:
        raise _rule_is_missing("segwit", '["segwit"]')
    template = ctx.templates.current()
    _check_client_knows(ctx, template, rules)
    return template_json(template, ctx.params, ctx.clock.now(), rules)


def _rule_is_missing(name: str, example: str) -> RpcError:
    return RpcError(
        RpcCode.INVALID_PARAMETER,
        f'getblocktemplate must be called with the {name} rule set (call with {{"rules": {example}}})',
    )


def _check_client_knows(ctx: NodeContext, template: BlockTemplate, rules: Collection[str]) -> None:
    for name, state in template.deployments.items():
        optional = ctx.params.deployments[name].gbt_optional_rule
        if state is ThresholdState.ACTIVE and not optional and name not in rules:
            raise RpcError(RpcCode.INVALID_PARAMETER, f"Support for '{name}' rule requires explicit client support")
