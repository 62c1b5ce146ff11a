"""getblocktemplate: requests, the template's members, proposals and long polls."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from clarion.api.executor import Executor
from clarion.api.render.block_template import template_json
from clarion.api.rpc import block_template
from clarion.api.rpc.block_template import getblocktemplate
from clarion.api.rpc.waiting import Waiting
from clarion.node.consensus.versionbits import ThresholdState
from clarion.node.errors import RpcError
from clarion.node.params.chain_params import select_params
from helpers.api_stack import ApiStack
from helpers.chain_builder import Built, genesis, make_block

RULES = {"rules": ["segwit"]}
ZEROS = "00" * 32


def raw(built: Built) -> str:
    assert built.block is not None
    return built.block.raw.hex()


def error_of(ctx: Any, request: Any) -> tuple[int, str]:
    with pytest.raises(RpcError) as caught:
        getblocktemplate(ctx, request)
    return caught.value.code, caught.value.message


def test_members_of_a_template(stack: ApiStack) -> None:
    template = stack.result("getblocktemplate", RULES)
    tip = stack.result("getbestblockhash")
    assert template.pop("longpollid") == f"{tip}{stack.mempool.pool.transactions_updated}"
    commitment = template.pop("default_witness_commitment")
    curtime, mintime = template.pop("curtime"), template.pop("mintime")
    assert template == {
        "capabilities": ["proposal"],
        "version": 0x20000000,
        "rules": ["csv", "!segwit", "taproot"],
        "vbavailable": {},
        "vbrequired": 0,
        "previousblockhash": tip,
        "transactions": [],
        "coinbaseaux": {},
        "coinbasevalue": 50_00000000,
        "target": "7fffff" + "00" * 29,
        "mutable": ["time", "transactions", "prevblock"],
        "noncerange": "00000000ffffffff",
        "sigoplimit": 80_000,
        "sizelimit": 4_000_000,
        "weightlimit": 4_000_000,
        "bits": "207fffff",
        "height": 4,
    }
    assert commitment == "6a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf9"
    assert mintime == stack.result("getblockchaininfo")["mediantime"] + 1 <= curtime


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        ({}, -8, 'getblocktemplate must be called with the segwit rule set (call with {"rules": ["segwit"]})'),
        ({"rules": "segwit"}, -8, "getblocktemplate must be called with the segwit rule set"),
        ({"rules": [1]}, -3, "JSON value of type number is not of expected type string"),
        ({"mode": "nonsense", **RULES}, -8, "Invalid mode"),
        ({"mode": 1, "rules": [1]}, -8, "Invalid mode"),
        ({"mode": "proposal"}, -3, "Missing data String key for proposal"),
        ({"mode": "proposal", "data": "00"}, -22, "Block decode failed"),
        ({"longpollid": "ab", **RULES}, -8, "longpollid must be of length 64 (not 2, for 'ab')"),
        ({"longpollid": "x" * 70, **RULES}, -8, f"longpollid must be hexadecimal string (not '{'x' * 64}')"),
    ],
)
def test_wrong_requests(stack: ApiStack, request_: dict[str, Any], code: int, message: str) -> None:
    told = stack.error("getblocktemplate", request_)
    assert told[0] == code
    assert told[1].startswith(message)


def test_a_template_needs_peers_and_a_chain_on_the_main_network(
    stack: ApiStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = replace(stack.context, params=select_params("main"))
    assert error_of(main, RULES) == (-9, "Clarion is not connected!")
    monkeypatch.setattr(block_template, "connection_count", lambda ctx: 1)
    monkeypatch.setattr(stack.node.manager.state, "initial_download", True)
    assert error_of(main, RULES) == (-10, "Clarion is in initial sync and waiting for blocks...")


def test_signet_is_a_rule_of_its_own(stack: ApiStack) -> None:
    signet = replace(stack.context, params=select_params("signet"))
    code, message = error_of(signet, RULES)
    assert code == -8
    assert message == (
        'getblocktemplate must be called with the signet rule set (call with {"rules": ["segwit", "signet"]})'
    )
    template = getblocktemplate(signet, {"rules": ["segwit", "signet"]})
    assert template["rules"][-1] == "!signet"
    assert template["signet_challenge"].startswith(
        "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430"
    )


def test_before_segwit_costs_are_not_scaled(stack: ApiStack) -> None:
    template = stack.context.templates.current()
    early = replace(stack.node.params, segwit_height=1000)
    answer = template_json(template, early, 0, [])
    assert answer["rules"] == ["csv"]
    assert (answer["sigoplimit"], answer["sizelimit"]) == (20_000, 1_000_000)
    assert "weightlimit" not in answer


@pytest.mark.parametrize(
    ("state", "optional", "rules", "signals", "available", "active"),
    [
        (ThresholdState.DEFINED, True, [], False, {}, []),
        (ThresholdState.STARTED, True, [], True, {"testdummy": 28}, []),
        (ThresholdState.STARTED, False, [], False, {"!testdummy": 28}, []),
        (ThresholdState.LOCKED_IN, False, ["testdummy"], True, {"!testdummy": 28}, []),
        (ThresholdState.ACTIVE, False, ["testdummy"], False, {}, ["!testdummy"]),
    ],
)
def test_deployments(
    stack: ApiStack,
    state: ThresholdState,
    optional: bool,
    rules: list[str],
    signals: bool,
    available: dict[str, int],
    active: list[str],
) -> None:
    params = stack.node.params
    deployment = replace(params.deployments["testdummy"], gbt_optional_rule=optional)
    params = replace(params, deployments={"testdummy": deployment})
    template = replace(stack.context.templates.current(), deployments={"testdummy": state})
    if state is ThresholdState.STARTED:
        template.block.header.version |= deployment.mask
    answer = template_json(template, params, 0, rules)
    template.block.header.version = 0x20000000
    assert answer["version"] == 0x20000000 | signals << 28
    assert answer["vbavailable"] == available
    assert answer["rules"][3:] == active


def test_a_rule_that_must_be_known(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    params = stack.node.params
    deployment = replace(params.deployments["testdummy"], gbt_optional_rule=False)
    template = replace(stack.context.templates.current(), deployments={"testdummy": ThresholdState.ACTIVE})
    monkeypatch.setattr(stack.context.templates, "current", lambda: template)
    ctx = replace(stack.context, params=replace(params, deployments={"testdummy": deployment}))
    assert error_of(ctx, RULES) == (-8, "Support for 'testdummy' rule requires explicit client support")
    assert "!testdummy" in getblocktemplate(ctx, {"rules": ["segwit", "testdummy"]})["rules"]


def test_proposals(own_stack: ApiStack) -> None:
    def propose(data: str) -> Any:
        return own_stack.result("getblocktemplate", {"mode": "proposal", "data": data})

    first = make_block(genesis())
    unsolved = bytearray.fromhex(raw(first))
    unsolved[76:80] = b"\xff" * 4
    assert propose(unsolved.hex()) is None
    wrong_root = bytearray(unsolved)
    wrong_root[40] ^= 1
    assert propose(wrong_root.hex()) == "bad-txnmrklroot"
    second = make_block(first)
    assert propose(raw(second)) == "inconclusive-not-best-prevblk"
    own_stack.result("submitheader", raw(first)[:160])
    assert propose(raw(first)) == "duplicate-inconclusive"
    own_stack.result("submitblock", raw(first))
    assert propose(raw(first)) == "duplicate"
    own_stack.result("invalidateblock", first.hash[::-1].hex())
    assert propose(raw(first)) == "duplicate-invalid"


def poll(stack: ApiStack, poll_id: Any) -> Any:
    return getblocktemplate(stack.context, {"longpollid": poll_id, **RULES})


def test_long_poll_ends_with_a_new_tip(own_stack: ApiStack) -> None:
    template = own_stack.result("getblocktemplate", RULES)
    answers: list[Any] = []
    client = threading.Thread(
        target=lambda: answers.append(
            own_stack.result("getblocktemplate", {**RULES, "longpollid": template["longpollid"]})
        )
    )
    client.start()
    client.join(0.2)
    assert client.is_alive()
    (block_hash,) = own_stack.result("generatetodescriptor", 1, "raw(51)")
    client.join(10)
    assert answers[0]["previousblockhash"] == block_hash


@pytest.mark.parametrize("poll_id", [ZEROS, ZEROS + "0", ZEROS + "zz"])
def test_long_poll_of_another_tip_is_answered_at_once(stack: ApiStack, poll_id: str) -> None:
    waiting = poll(stack, poll_id)
    assert waiting.ready.done()
    assert waiting.answer()["height"] == 4


def test_long_poll_asks_after_transactions_from_time_to_time(stack: ApiStack, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float | None] = []
    when = stack.node.manager.tip_watch.when

    def hasty(happened: Any, timeout_s: float | None = None) -> Any:
        patience.append(timeout_s)
        return when(happened, 0)

    monkeypatch.setattr(stack.node.manager.tip_watch, "when", hasty)
    waiting = poll(stack, 5)
    for _ in range(2):
        waiting.ready.result(10)
        waiting = waiting.answer()
        assert isinstance(waiting, Waiting)
    assert patience == [60.0, 10.0, 10.0]
    monkeypatch.setattr(type(stack.context.miner), "pool_updates", 1)
    assert waiting.answer()["height"] == 4


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        (" +7x", 7),
        ("", 0),
        ("x7", 0),
        ("+-7", 0),
        ("-1", 2**32 - 1),
        ("9" * 5000, 2**32 - 1),
        ("-" + "9" * 30, 0),
    ],
)
def test_number_of_a_poll_id(stack: ApiStack, text: str, number: int) -> None:
    waiting = poll(stack, ZEROS + text)
    assert waiting.answer.args[2] == number


def test_long_poll_ends_when_the_node_stops(own_stack: ApiStack) -> None:
    waiting = poll(own_stack, own_stack.result("getbestblockhash"))
    assert not waiting.ready.done()
    own_stack.node.manager.tip_watch.stop()
    assert waiting.ready.result(0) is False
    with pytest.raises(RpcError, match="Shutting down") as caught:
        waiting.answer()
    assert caught.value.code == -9


def test_long_poll_is_given_up_when_the_client_leaves(own_stack: ApiStack) -> None:
    poll_id = own_stack.result("getblocktemplate", RULES)["longpollid"]
    watch = own_stack.node.manager.tip_watch

    async def main() -> list[int]:
        executor = Executor(own_stack.reader)
        leave = asyncio.Event()
        request = {**RULES, "longpollid": poll_id}
        call = asyncio.create_task(executor.execute("getblocktemplate", [request], lambda: leave.wait()))
        waits = []
        for action in (lambda: None, leave.set):
            action()
            await asyncio.sleep(0.2)
            waits.append(len(watch._waits))
        with pytest.raises(RpcError, match="The client has left"):
            await call
        return waits

    assert asyncio.run(main()) == [1, 0]
