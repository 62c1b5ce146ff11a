"""Ranges of addresses in text, and what they contain."""

import pytest

from clarion.node.net.address import parse_address
from clarion.node.net.subnet import parse_subnet

ONION = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2.3.4", "1.2.3.4/32"),
        ("1.2.3.4/24", "1.2.3.0/24"),
        ("1.2.3.4/255.255.128.0", "1.2.0.0/17"),
        ("1.2.3.4/0", "0.0.0.0/0"),
        ("[::1]", "::1/128"),
        ("127.1/8", "127.0.0.0/8"),
        ("10.1/255.255.0.0", "10.0.0.0/16"),
        ("10.1/4294901760", "10.0.0.0/16"),
        ("[10.1]/[255.0.0.0]", "10.0.0.0/8"),
        ("1:2:3:4:5:6:7:8/ffff:ffff::", "1:2::/32"),
        (ONION, ONION),
    ],
)
def test_forms(text: str, shown: str) -> None:
    assert str(parse_subnet(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.2.3.4/",
        "1.2.3.4/33",
        "1.2.3.4/256",
        "[1.2.3.4",
        "1.2.3.4/-1",
        "1.2.3.4/255.0.255.0",
        "1.2.3.4/ffff::",
        f"{ONION}/8",
        "name",
        "1.2.3.4:5",
    ],
)
def test_what_is_no_range(text: str) -> None:
    assert parse_subnet(text) is None


@pytest.mark.parametrize(
    ("range_", "address", "inside"),
    [
        ("1.2.3.0/24", "1.2.3.255", True),
        ("1.2.3.0/24", "1.2.4.0", False),
        ("::/0", "1.2.3.4", False),
        ("::/0", "::", False),
        ("::/0", "fe80::1", True),
        (ONION, ONION, True),
    ],
)
def test_membership(range_: str, address: str, inside: bool) -> None:
    subnet, member = parse_subnet(range_), parse_address(address)
    assert subnet is not None
    assert member is not None
    assert (member in subnet) is inside
