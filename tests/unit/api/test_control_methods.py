"""help, stop, uptime, getrpcinfo, echo, and the methods about addresses and descriptors."""

import ctypes
from typing import Any

import pytest

from clarion.api.rpc import registry
from clarion.api.rpc.node_methods import load_methods
from clarion.api.rpc.spec import ArgType, Result
from helpers.api_stack import ApiStack
from helpers.event_source import wait_until

load_methods()
METHODS = list(registry.public_methods())


def test_overview_lists_what_is_not_hidden(stack: ApiStack) -> None:
    text = stack.result("help")
    assert text.startswith('== Blockchain ==\ndumptxoutset "path" ( "type" {"rollback":n,"in_memory":bool,...} )\n')
    assert '\ngetbestblockhash\ngetblock "blockhash" ( verbosity )\n' in text
    assert "\n\n== Zmq ==\ngetzmqnotifications" in text
    assert "generatetoaddress" not in text
    assert "_flush" not in text


@pytest.mark.parametrize("name", [method.name for method in METHODS])
def test_each_method_has_a_help_text(stack: ApiStack, name: str) -> None:
    text = stack.result("help", name)
    assert text.startswith(name)
    assert text.count("\n\n") >= 1
    for number, arg in enumerate(registry.find(name).args, 1):  # type: ignore[union-attr]
        assert arg.hidden or f"\n{number}. {arg.name} " in text


def test_layout(stack: ApiStack) -> None:
    text = stack.result("help", "getblockheader")
    assert text.split("\n")[0] == 'getblockheader "blockhash" ( verbose )'
    assert "\nArguments:\n1. blockhash    (string, required) The block's hash\n" in text
    assert "2. verbose      (boolean, optional, default=true) true for an object" in text
    assert "\nResult (for verbose = true):\n{" in text
    assert '\nExamples:\n> clarion-cli getblockheader "' in text
    assert stack.result("help", "nosuch") == "help: unknown command: nosuch"


def test_conversions_know_every_argument(stack: ApiStack) -> None:
    rows = stack.result("help", "dump_all_command_conversions")
    assert ["getblock", 1, "verbosity", False] in rows
    assert ["getblock", 1, "verbose", False] in rows
    assert ["getblock", 0, "blockhash", True] in rows


@pytest.mark.parametrize("name", [method.name for method in METHODS])
def test_declarations_make_sense(name: str) -> None:
    method = registry.find(name)
    assert method is not None
    assert method.results
    assert method.description
    names = [each for arg in method.args for each in arg.names.split("|")]
    assert len(names) == len(set(names))
    assert all(isinstance(arg.type, ArgType) for arg in method.args)


def test_stop_answers_first(own_stack: ApiStack) -> None:
    assert own_stack.result("stop", wait=1) == "Clarion stopping"
    assert own_stack.stopped


def test_uptime_does_not_follow_the_mocked_clock(own_stack: ApiStack) -> None:
    before = own_stack.result("uptime")
    own_stack.result("setmocktime", 4_000_000_000)
    assert 0 <= own_stack.result("uptime") - before < 100


def test_repeated_work_can_be_hurried(own_stack: ApiStack) -> None:
    done: list[str] = []
    scheduler = own_stack.context.scheduler
    scheduler.every(3600, lambda: done.append("hourly"))
    assert own_stack.result("mockscheduler", 3600) is None
    scheduler.start()
    wait_until(lambda: bool(done))
    scheduler.stop()
    assert done == ["hourly"]
    for seconds in (0, -1, 3601):
        error = (-1, "delta_time must be between 1 and 3600 seconds (1 hr)")
        assert own_stack.error("mockscheduler", seconds) == error


def test_rpc_info(stack: ApiStack) -> None:
    info = stack.result("getrpcinfo")
    assert [command["method"] for command in info["active_commands"]] == ["getrpcinfo"]
    assert info["logpath"].endswith("debug.log")


def test_logging_switches_categories(own_stack: ApiStack) -> None:
    assert not any(own_stack.result("logging").values())
    changed = own_stack.result("logging", ["rpc", "net"], ["net"])
    assert [name for name, active in changed.items() if active] == ["rpc"]
    assert own_stack.error("logging", ["nosuch"]) == (-8, "unknown logging category nosuch")
    own_stack.result("logging", [], ["all"])


def test_logging_takes_a_category_of_the_past(own_stack: ApiStack, caplog: pytest.LogCaptureFixture) -> None:
    assert own_stack.result("logging", ["libevent"]) == own_stack.result("logging")
    assert "The logging category `libevent` is deprecated" in caplog.text


def test_echo(stack: ApiStack) -> None:
    assert stack.result("echo", 1, None, {"a": [2]}) == [1, None, {"a": [2]}]
    assert stack.result("echojson", arg1=1) == [None, 1]
    code, message = stack.error("echo", *range(9), "trigger_internal_bug")
    assert code == -1
    assert "Internal bug detected" in message


def test_notifiers_and_sync(stack: ApiStack) -> None:
    assert stack.result("getzmqnotifications") == [
        {"type": "pubhashblock", "address": "tcp://127.0.0.1:28332", "hwm": 1000}
    ]
    assert stack.result("syncwithvalidationinterfacequeue") is None


@pytest.mark.parametrize(
    ("address", "answer"),
    [
        (
            "bcrt1q6rhpng9evdsfnn833a4f4vej0asu6dk5srld6x",
            {"isscript": False, "iswitness": True, "witness_version": 0},
        ),
        ("mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z", {"isscript": False, "iswitness": False}),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", {"isvalid": False, "error_locations": []}),
    ],
)
def test_validateaddress(stack: ApiStack, address: str, answer: dict[str, Any]) -> None:
    got = stack.result("validateaddress", address)
    assert {key: got[key] for key in answer} == answer
    assert got["isvalid"] is ("error" not in got)


def test_descriptors(stack: ApiStack) -> None:
    assert stack.result("getdescriptorinfo", "raw(51)") == {
        "descriptor": "raw(51)#8lvh9jxk",
        "checksum": "8lvh9jxk",
        "isrange": False,
        "issolvable": False,
        "hasprivatekeys": False,
    }
    assert stack.error("deriveaddresses", "raw(51)") == (-5, "Missing checksum")
    code, message = stack.error("deriveaddresses", "raw(51)#8lvh9jxk")
    assert (code, message) == (-5, "Descriptor does not have a corresponding address")


def mismatch(value: Any, declared: Result) -> str | None:
    """Return what is wrong with an answer by its declaration."""
    if isinstance(value, dict):
        members = {member.key: member for member in declared.inner}
        extra = set(value) - set(members)
        missing = {key for key, member in members.items() if not member.optional} - set(value)
        if extra or missing:
            return f"extra {extra}, missing {missing}"
        return next((f"{key}: {m}" for key, v in value.items() if (m := mismatch(v, members[key]))), None)
    if isinstance(value, list):
        return next((m for v in value if (m := mismatch(v, declared.inner[0]))), None)
    return None


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("getblockchaininfo", []),
        ("getchaintips", []),
        ("getmempoolinfo", []),
        ("getnetworkinfo", []),
        ("getrpcinfo", []),
        ("gettxoutsetinfo", []),
        ("scantxoutset", ["start", ["raw(51)"]]),
        ("validateaddress", ["mjTkW3DjgyZck4KbiRusZsqTgaYTxdSz6z"]),
        ("validateaddress", ["x"]),
        ("getdescriptorinfo", ["raw(51)"]),
    ],
    ids=str,
)
def test_answers_are_as_declared(stack: ApiStack, name: str, params: list[Any]) -> None:
    method = registry.find(name)
    assert method is not None
    assert mismatch(stack.result(name, *params), method.results[0]) is None


@pytest.mark.parametrize("verbosity", [1, 2, 3])
def test_blocks_are_as_declared(stack: ApiStack, verbosity: int) -> None:
    method = registry.find("getblock")
    assert method is not None
    block = stack.result("getblock", stack.result("getblockhash", 1), verbosity)
    assert mismatch(block, method.results[verbosity]) is None


def test_memory_is_counted(stack: ApiStack) -> None:
    memory = stack.result("getmemoryinfo")["locked"]
    assert memory["used"] + memory["free"] == memory["total"]
    assert memory["chunks_used"] > 0
    assert stack.error("getmemoryinfo", "foobar") == (-8, "unknown mode foobar")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc has this report")
def test_the_c_library_s_report_of_memory(stack: ApiStack) -> None:
    assert stack.result("getmemoryinfo", "mallocinfo").startswith("<malloc version=")


def test_echo_through_the_node(stack: ApiStack) -> None:
    assert stack.result("echoipc", "hello") == "hello"


def test_help_names_the_categories_of_the_log_in_order(stack: ApiStack) -> None:
    categories = list(stack.result("logging"))
    assert categories == sorted(categories)
    assert f"valid logging categories are: {', '.join(categories)}" in stack.result("help", "logging")
