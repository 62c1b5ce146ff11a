"""Network addresses: networks, encodings, texts."""

import pytest

from clarion.node.errors import DecodeError
from clarion.node.net.address import (
    UNSPECIFIED,
    Endpoint,
    NetAddress,
    Network,
    from_v1,
    from_v2,
    parse_address,
    parse_endpoint,
    split_host_port,
)

ONION = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"
I2P = "ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p"


@pytest.mark.parametrize(
    ("text", "network", "routable"),
    [
        ("1.2.3.4", Network.IPV4, True),
        ("10.1.2.3", Network.IPV4, False),
        ("172.32.0.1", Network.IPV4, True),
        ("172.31.0.1", Network.IPV4, False),
        ("198.19.1.1", Network.IPV4, False),
        ("169.254.1.1", Network.IPV4, False),
        ("100.64.0.1", Network.IPV4, False),
        ("203.0.113.9", Network.IPV4, False),
        ("127.0.0.1", Network.IPV4, False),
        ("255.255.255.255", Network.IPV4, False),
        ("2600::1", Network.IPV6, True),
        ("fe80::1", Network.IPV6, False),
        ("fd00::1", Network.IPV6, False),
        ("2001:10::1", Network.IPV6, False),
        ("2001:20::1", Network.IPV6, False),
        ("2001:db8::1", Network.IPV6, False),
        ("::1", Network.IPV6, False),
        (ONION, Network.ONION, True),
        (I2P, Network.I2P, True),
    ],
)
def test_texts_and_networks(text: str, network: Network, routable: bool) -> None:
    address = parse_address(text)
    assert address is not None
    assert (address.network, address.is_routable, str(address)) == (network, routable, text)
    assert address.public_network is (network if routable else Network.UNROUTABLE)


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("8.8.8.8", "08080808"),
        ("64:ff9b::102:304", "01020304"),
        ("::ffff:0:102:304", "01020304"),
        ("2002:102:304::1", "01020304"),
        ("2001:0:9999::fefd:fcfb", "01020304"),
        ("2600::1", None),
        ("10.0.0.1", None),
    ],
)
def test_addresses_that_stand_for_ipv4(text: str, linked: str | None) -> None:
    address = parse_address(text)
    assert address is not None
    assert (address.linked_ipv4.hex() if address.linked_ipv4 else None) == linked
    assert (address.network_class is Network.IPV4) == (linked is not None)


@pytest.mark.parametrize(
    "text", ["", "1.2.256.3", "1.2.3.4.5", "::g", ONION[1:], "a" * 56 + ".onion", "x.b32.i2p", "host"]
)
def test_no_addresses(text: str) -> None:
    assert parse_address(text) is None


def test_old_encoding() -> None:
    address = parse_address("1.2.3.4")
    assert address is not None
    assert address.to_v1().hex() == "00000000000000000000ffff01020304"
    assert from_v1(address.to_v1()) == address
    assert from_v1(bytes.fromhex("fd87d87eeb43") + bytes(10)) == UNSPECIFIED
    assert from_v1(bytes.fromhex("fd6b88c08724") + bytes(10)).network is Network.INTERNAL


def test_bip155_encoding() -> None:
    for text in ("1.2.3.4", "2600::1", ONION, I2P, "fc00::1"):
        address = parse_address(text)
        assert address is not None
        raw = address.to_v2()
        assert from_v2(raw[0], raw[2:]) == address
    assert from_v2(6, bytes.fromhex("fc" + "00" * 15)) == NetAddress(Network.CJDNS, bytes.fromhex("fc" + "00" * 15))
    assert from_v2(0xAA, b"12345") is None
    assert from_v2(2, bytes(10) + b"\xff\xff" + bytes(4)) == UNSPECIFIED
    with pytest.raises(DecodeError, match=r"BIP155 IPv4 address with length 5 \(should be 4\)"):
        from_v2(1, bytes(5))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1.2.3.4", ("1.2.3.4", 8333)),
        ("1.2.3.4:1", ("1.2.3.4", 1)),
        ("[::1]:18444", ("::1", 18444)),
        ("[::1]", ("::1", 8333)),
        ("::1", ("::1", 8333)),
        ("host:70000", None),
        ("host:0", None),
        ("host:x", None),
        ("[::1]x", None),
    ],
)
def test_host_and_port(text: str, want: tuple[str, int] | None) -> None:
    assert split_host_port(text, 8333) == want


def test_endpoints_as_text() -> None:
    assert str(parse_endpoint("[2600::1]:5", 8333)) == "[2600::1]:5"
    assert str(parse_endpoint("8.8.8.8", 8333)) == "8.8.8.8:8333"
    assert parse_endpoint("nobody:5", 8333) is None
    endpoint = parse_endpoint("8.8.8.8:255", 8333)
    assert isinstance(endpoint, Endpoint)
    assert endpoint.to_v2().hex() == "010408080808" + "00ff"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("127.1", "127.0.0.1"),
        ("127.1:5", "127.0.0.1:5"),
        ("1.2.772", "1.2.3.4"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("[0177.0.0.1]:5", "127.0.0.1:5"),
        ("[::ffff:1.2.3.4]", "1.2.3.4"),
        ("fe80::1%1", "fe80::1%1"),
    ],
)
def test_numbers_are_read_as_the_system_reads_them(text: str, shown: str) -> None:
    assert str(parse_endpoint(text, 0)).removesuffix(":0").strip("[]") == shown


@pytest.mark.parametrize(
    "text", ["", "1.2.3.4 ", "1.2.3.4 x", "256.1", "1.2.3.4.5", "1.2.3.4\0", "bücher", "fd6b:88c0:8724::1", "a" * 300]
)
def test_what_is_no_address(text: str) -> None:
    assert parse_address(text) is None
