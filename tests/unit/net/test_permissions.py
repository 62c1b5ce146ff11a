"""Permissions and subnets as options say them."""

from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError
from clarion.node.net.address import parse_address
from clarion.node.net.options import NetOptions
from clarion.node.net.permissions import Permission, granted, parse_permissions, parse_whitelist, permission_names
from clarion.node.net.subnet import parse_subnet

ONION = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"


@pytest.mark.parametrize(
    ("text", "shown", "inside", "outside"),
    [
        ("1.2.3.4", "1.2.3.4/32", "1.2.3.4", "1.2.3.5"),
        ("1.2.3.4/8", "1.0.0.0/8", "1.255.0.1", "2.2.3.4"),
        ("1.2.3.4/255.255.255.0", "1.2.3.0/24", "1.2.3.77", "1.2.4.77"),
        ("1:2::/32", "1:2::/32", "1:2:3::", "1:3::"),
        ("1::/ffff::", "1::/16", "1:2:3::", "2::"),
        ("::/0", "::/0", "1:2:3::", "1.2.3.4"),
        (ONION, ONION, ONION, "1.2.3.4"),
    ],
)
def test_subnets(text: str, shown: str, inside: str, outside: str) -> None:
    subnet = parse_subnet(text)
    near, far = parse_address(inside), parse_address(outside)
    assert subnet is not None
    assert near is not None
    assert far is not None
    assert str(subnet) == shown
    assert near in subnet
    assert far not in subnet


@pytest.mark.parametrize("text", ["", "1.2.3.4/33", "1.2.3.4/255.0.255.0", f"{ONION}/8", "1.2.3.4/", "1.2.3.4/::"])
def test_what_is_no_subnet(text: str) -> None:
    assert parse_subnet(text) is None


@pytest.mark.parametrize(
    ("text", "names", "inbound", "outbound"),
    [
        ("noban@x", ["noban", "download"], True, False),
        ("forcerelay,,out@x", ["forcerelay", "relay"], False, True),
        ("in,out,addr@x", ["addr"], True, True),
        ("bloom@x", ["bloomfilter"], True, False),
        ("@x", [], True, False),
    ],
)
def test_permissions(text: str, names: list[str], inbound: bool, outbound: bool) -> None:
    parts = parse_permissions(text)
    assert permission_names(parts.permissions) == names
    assert (parts.inbound, parts.outbound, parts.rest) == (inbound, outbound, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oopsie@1.2.3.4", "Invalid P2P permission: 'oopsie'"),
        ("in,out@1.2.3.4", "Only direction was set, no permissions: 'in,out@1.2.3.4'"),
        ("noban@oops", "Invalid netmask specified in -whitelist: 'oops'"),
    ],
)
def test_wrong_whitelists(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_whitelist(text)


def test_what_is_granted_without_a_name() -> None:
    home = parse_address("127.0.0.1")
    entries = [parse_whitelist("127.0.0.1"), parse_whitelist("addr@127.0.0.0/8"), parse_whitelist("relay@10.0.0.0/8")]
    assert granted(Permission.NONE, home, entries, Permission.MEMPOOL) == Permission.MEMPOOL | Permission.ADDR
    assert granted(Permission.RELAY, None, entries, Permission.MEMPOOL) == Permission.RELAY


def test_options_of_the_whitelist(tmp_path: Path) -> None:
    def read(*options: str) -> NetOptions:
        return load_config([f"-datadir={tmp_path}", "-regtest", *options], {}).net

    assert read("-whitelist=127.0.0.1").whitelist == (parse_whitelist("127.0.0.1"),)
    assert Permission.RELAY & read().implied_permissions
    assert not Permission.RELAY & read("-blocksonly").implied_permissions
    assert not Permission.RELAY & read("-whitelistrelay=0").implied_permissions
    assert read("-blocksonly", "-whitelistforcerelay").implied_permissions & Permission.FORCE_RELAY
