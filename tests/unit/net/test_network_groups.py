"""Groups of addresses."""

import pytest

from clarion.node.net.address import internal_address, parse_address
from clarion.node.net.network_groups import group_of


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("127.0.0.1", "00"),
        ("257.0.0.1", None),
        ("10.0.0.1", "00"),
        ("169.254.1.1", "00"),
        ("1.2.3.4", "010102"),
        ("::ffff:0:102:304", "010102"),
        ("64:ff9b::102:304", "010102"),
        ("2002:102:304:9999:9999:9999:9999:9999", "010102"),
        ("2001:0:9999:9999:9999:9999:fefd:fcfb", "010102"),
        ("2001:470:abcd:9999:9999:9999:9999:9999", "0220010470af"),
        ("2001:2001:9999:9999:9999:9999:9999:9999", "0220012001"),
        ("6hzph5hv6337r6p2.onion", None),
        ("pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion", "037f"),
    ],
)
def test_groups(text: str, group: str | None) -> None:
    address = parse_address(text)
    assert (None if address is None else group_of(address).hex()) == group


def test_names_are_groups_of_their_own() -> None:
    assert group_of(internal_address("baz.net")).hex().startswith("06")
    assert group_of(internal_address("baz.net")) != group_of(internal_address("foo.com"))
