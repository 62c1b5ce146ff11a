"""getdescriptorinfo, deriveaddresses, and scans and mining with extended keys."""

from typing import Any

import pytest

from clarion.node.primitives.descriptor_checksum import add_checksum
from helpers.api_stack import ApiStack

XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"
XPRV = "tprv8ZgxMBicQKsPd7Uf69XL1XwhmjHopUGep8GuEiJDZmbQz6o58LninorQAfcKZWARbtRtfnLcJ5MQ2AtHcQJCCRUcMRvmDUjyEmNUWwx8UbK"
RANGED = add_checksum(f"wpkh({XPRV}/1/1/*)")
FIRST = "bcrt1qjqmxmkpmxt80xz4y3746zgt0q3u3ferr34acd5"
NEXT = ["bcrt1qhku5rq7jz8ulufe2y6fkcpnlvpsta7rq4442dy", "bcrt1qpgptk2gvshyl0s9lqshsmx932l9ccsv265tvaq"]


def test_range(stack: ApiStack) -> None:
    assert stack.result("deriveaddresses", RANGED, [1, 2]) == NEXT
    assert stack.result("deriveaddresses", RANGED, 2) == [FIRST, *NEXT]
    last = [2**31 - 1, 2**31 - 1]
    assert stack.result("deriveaddresses", RANGED, last) == ["bcrt1qtzs23vgzpreks5gtygwxf8tv5rldxvvsyfpdkg"]


def test_alternatives(stack: ApiStack) -> None:
    descriptor = add_checksum(f"wpkh({XPRV}/1/<0;1>/*)")
    others = ["bcrt1q7c8mdmdktrzs8xgpjmqw90tjn65j5a3yj04m3n", "bcrt1qs6n37uzu0v0qfzf0r0csm0dwa7prc0v5uavgy0"]
    assert stack.result("deriveaddresses", descriptor, [1, 2]) == [others, NEXT]
    info = stack.result("getdescriptorinfo", descriptor)
    assert info["multipath_expansion"] == [add_checksum(f"wpkh({XPUB}/1/{step}/*)") for step in (0, 1)]
    assert info["descriptor"] == info["multipath_expansion"][0]
    assert (info["isrange"], info["hasprivatekeys"]) == (True, True)


def test_combo(stack: ApiStack) -> None:
    descriptor = add_checksum(f"combo({XPRV}/1/1/0)")
    expected = ["mtfUoUax9L4tzXARpw1oTGxWyoogp52KhJ", FIRST, "2NDvEwGfpEqJWfybzpKPHF2XH3jwoQV3D7x"]
    assert stack.result("deriveaddresses", descriptor) == expected


@pytest.mark.parametrize(
    ("descriptor", "derivation_range", "code", "message"),
    [
        (f"wpkh({XPUB}/*)", None, -8, "Range must be specified for a ranged descriptor"),
        (f"wpkh({XPUB}/0)", [0, 2], -8, "Range should not be specified for an un-ranged descriptor"),
        (f"wpkh({XPUB}/*)", 10_000_000_000, -8, "End of range is too high"),
        (f"wpkh({XPUB}/*)", [1_000_000_000, 2_000_000_000], -8, "Range is too large"),
        (f"wpkh({XPUB}/*)", [0, None], -8, "Range must be specified as end or as [begin,end]"),
        (f"wpkh({XPUB}/*)", [True, 1], -8, "Range must be specified as end or as [begin,end]"),
        (f"wpkh({XPUB}/*)", 1.5, -1, "JSON integer out of range"),
        (f"wpkh({XPUB}/*)", 2**64, -1, "JSON integer out of range"),
        (f"wpkh({XPUB}/1'/0)", None, -5, "Cannot derive script without private keys"),
        (f"multi(1,{XPUB}/0)", None, -5, "Descriptor does not have a corresponding address"),
        (f"unused({XPUB})", None, -1, "Unexpected empty result"),
    ],
)
def test_refused(stack: ApiStack, descriptor: str, derivation_range: Any, code: int, message: str) -> None:
    params = [add_checksum(descriptor)] + ([] if derivation_range is None else [derivation_range])
    assert stack.error("deriveaddresses", *params) == (code, message)


def test_mined_and_found_again(own_stack: ApiStack) -> None:
    mined = [own_stack.result("generatetodescriptor", 1, f"wpkh({XPUB}/1/1/{index})") for index in (0, 5)]
    assert len(mined) == 2
    scan = {"desc": f"wpkh({XPRV}/1/<0;1>/*)", "range": [1, 5]}
    found = own_stack.result("scantxoutset", "start", [scan])["unspents"]
    assert [output["desc"].split("]")[0] for output in found] == ["wpkh([0c5f9a1e/1/1/5"]
    assert len(own_stack.result("scantxoutset", "start", [f"wpkh({XPUB}/1/1/*)"])["unspents"]) == 2


@pytest.mark.parametrize(
    ("descriptor", "code", "message"),
    [
        (f"wpkh({XPUB}/*)", -8, "Ranged descriptor not accepted. Maybe pass through deriveaddresses first?"),
        (f"wpkh({XPUB}/<0;1>)", -8, "Multipath descriptor not accepted"),
        (f"wpkh({XPUB}/0h)", -5, "Cannot derive script without private keys"),
    ],
)
def test_nothing_is_mined(stack: ApiStack, descriptor: str, code: int, message: str) -> None:
    assert stack.error("generatetodescriptor", 1, descriptor) == (code, message)


def test_scan_that_needs_private_keys(stack: ApiStack) -> None:
    descriptor = f"wpkh({XPUB}/0h/*)"
    message = f"Cannot derive script without private keys: '{descriptor}'"
    assert stack.error("scantxoutset", "start", [descriptor]) == (-5, message)
