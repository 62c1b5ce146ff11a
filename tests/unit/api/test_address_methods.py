"""Methods about addresses and single messages, over the API."""

from pathlib import Path

import pytest

from helpers.addresses import ONION
from helpers.api_stack import ApiStack

NOW = 1_700_000_000


@pytest.fixture
def stack(tmp_path: Path) -> ApiStack:
    stack = ApiStack(tmp_path).ready()
    stack.node.clock.set_mock(NOW)
    return stack


def test_remembered_addresses(stack: ApiStack) -> None:
    assert stack.result("addpeeraddress", "1.2.3.4", 8333, True) == {"success": True}
    assert stack.result("addpeeraddress", ONION, 45324) == {"success": True}
    assert stack.result("addpeeraddress", "1.2.3.4", 8333)["error"] == "failed-adding-to-new"
    info = stack.result("getaddrmaninfo")
    assert info["all_networks"] == {"new": 1, "tried": 1, "total": 2}
    assert (info["ipv4"]["tried"], info["onion"]["new"], info["cjdns"]["total"]) == (1, 1, 0)
    (known,) = stack.result("getnodeaddresses", 0, "ONION")
    assert known == {"time": NOW, "services": 9, "address": ONION, "port": 45324, "network": "onion"}
    assert len(stack.result("getnodeaddresses")) == 1
    assert len(stack.result("getnodeaddresses", 0)) == 2


def test_tables(stack: ApiStack) -> None:
    stack.result("addpeeraddress", "1.2.3.4", 8333, True)
    tables = stack.result("getrawaddrman")
    assert tables["new"] == {}
    ((place, entry),) = tables["tried"].items()
    bucket, position = map(int, place.split("/"))
    assert bucket < 256
    assert position < 64
    assert (entry["address"], entry["source"], entry["source_network"]) == ("1.2.3.4", "1.2.3.4", "ipv4")


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (("getnodeaddresses", -1), -8, "Address count out of range"),
        (("getnodeaddresses", 1, "foo"), -8, "Network not recognized: foo"),
        (("addpeeraddress", "", 8333), -30, "Invalid IP address"),
        (("addpeeraddress", "1.2.3.4", 65536), -1, "JSON integer out of range"),
        (("sendmsgtopeer", 0, "addr", "FF"), -1, "Error: Could not send message to peer"),
        (("sendmsgtopeer", 0, "a" * 13, "FF"), -8, "Error: msg_type too long, max length is 12"),
        (("sendmsgtopeer", 0, "addr", "FFF"), -8, "Error parsing input for msg"),
        (("setban", "1.2.3.4/99", "add"), -30, "Error: Invalid IP/Subnet"),
        (("setban", "1.2.3.4", "remove"), -30, "Error: Unban failed. Requested address/subnet was not previously "),
        (("setban", "1.2.3.4", "add", 5, True), -8, "Error: Absolute timestamp is in the past"),
        (("getaddednodeinfo", "1.2.3.4"), -24, "Error: Node has not been added."),
        (("exportasmap", "asmap.dat"), -1, "No embedded ASMap data available"),
    ],
)
def test_what_is_refused(stack: ApiStack, call: tuple[object, ...], code: int, message: str) -> None:
    method, *params = call
    error = stack.error(str(method), *params)
    assert error[0] == code
    assert error[1].startswith(message)


def test_bans(stack: ApiStack) -> None:
    stack.result("setban", "1.2.3.4", "add", 100)
    stack.result("setban", "fc00::/7", "add", NOW + 50, True)
    bans = stack.result("listbanned")
    assert [each["address"] for each in bans] == ["1.2.3.4/32", "fc00::/7"]
    assert [each["time_remaining"] for each in bans] == [100, 50]
    assert stack.error("setban", "1.2.3.4", "add") == (-23, "Error: IP/Subnet already banned")
    stack.result("setban", "fc00::/7", "remove")
    stack.result("clearbanned")
    assert stack.result("listbanned") == []


def test_networks(stack: ApiStack) -> None:
    info = stack.result("getnetworkinfo")
    assert [(each["name"], each["reachable"]) for each in info["networks"]] == [
        ("ipv4", True), ("ipv6", True), ("onion", False), ("i2p", False), ("cjdns", False),
    ]  # fmt: skip
    assert info["localservicesnames"] == ["NETWORK", "WITNESS", "NETWORK_LIMITED", "P2P_V2"]
    assert info["localaddresses"] == []
    assert stack.result("getnettotals")["uploadtarget"]["serve_historical_blocks"] is True
    assert stack.result("setnetworkactive", False) is False
    assert stack.result("getnetworkinfo")["networkactive"] is False
