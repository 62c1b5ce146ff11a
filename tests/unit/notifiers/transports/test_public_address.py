"""Which addresses a webhook may reach."""

import ipaddress
import socket

import pytest

from clarion.node.errors import DeliveryError
from clarion.notifiers.transports.public_address import is_public, resolve

PRIVATE = [
    "127.0.0.1",
    "127.255.0.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fc00::1",
    "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]


@pytest.mark.parametrize("text", PRIVATE)
def test_addresses_of_the_operators_own_network_are_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_addresses_of_the_internet_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "127.1", "2130706433", "0x7f.1"])
def test_other_ways_to_write_this_machine_are_seen_through(host: str) -> None:
    with pytest.raises(DeliveryError, match="which is not on the internet: allow it with private=1"):
        resolve(host, 80, allow_private=False)
    assert resolve(host, 80, allow_private=True)


def test_one_private_address_among_others_refuses_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(DeliveryError, match=r"shop\.example leads to 10\.0\.0\.1"):
        resolve("shop.example", 443, allow_private=False)
    assert resolve("shop.example", 443, allow_private=True) == ["8.8.8.8", "10.0.0.1"]


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70 + ".example"])
def test_a_name_without_an_address_is_tried_again_later(host: str) -> None:
    with pytest.raises(DeliveryError, match=host[:10]):
        resolve(host, 80, allow_private=False)
