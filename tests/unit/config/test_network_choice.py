"""Options that say which networks there are and how they are reached."""

from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError
from clarion.node.net.address import Network
from clarion.node.net.options import NetOptions

ONLY_ONION = "Outbound connections restricted to Tor (-onlynet=onion) but the proxy for reaching the Tor network is"


def read(folder: Path, *arguments: str) -> NetOptions:
    return load_config([f"-datadir={folder}", "-regtest", *arguments], {}).net


def reachable(options: NetOptions) -> set[str]:
    return {network.value for network in options.reachable}


def proxies(options: NetOptions) -> dict[str, str]:
    return {network.value: str(proxy) for network, proxy in options.proxies.by_network.items()}


@pytest.mark.parametrize(
    ("arguments", "networks"),
    [
        ([], {"ipv4", "ipv6"}),
        (["-proxy=127.0.0.1"], {"ipv4", "ipv6", "onion"}),
        (["-proxy=127.0.0.1", "-onion=0"], {"ipv4", "ipv6"}),
        (["-onion=127.0.0.1"], {"ipv4", "ipv6", "onion"}),
        (["-cjdnsreachable"], {"ipv4", "ipv6", "cjdns"}),
        (["-onlynet=IPv4"], {"ipv4"}),
        (["-onlynet=onion", "-onlynet=ipv6", "-onion=127.0.0.1"], {"ipv6", "onion"}),
        (["-onlynet=onion"], set()),
        (["-onlynet=cjdns", "-cjdnsreachable"], {"cjdns"}),
    ],
)
def test_networks(tmp_path: Path, arguments: list[str], networks: set[str]) -> None:
    assert reachable(read(tmp_path, *arguments)) == networks


def test_a_proxy_for_all_and_for_one(tmp_path: Path) -> None:
    everywhere = read(tmp_path, "-proxy=127.1.1.1:1111")
    assert proxies(everywhere) == dict.fromkeys(("ipv4", "ipv6", "cjdns", "onion"), "127.1.1.1:1111")
    assert str(everywhere.proxies.for_names) == "127.1.1.1:1111"
    parted = read(tmp_path, "-proxy=127.1.1.1=IPv6", "-proxy=unix:/run/tor=onion")
    assert proxies(parted) == {"ipv6": "127.1.1.1:9050", "onion": "unix:/run/tor"}
    assert str(parted.proxies.for_names) == "127.1.1.1:9050"
    assert "cjdns" not in proxies(read(tmp_path, "-proxy=127.1.1.1", "-proxy=0=cjdns"))
    assert read(tmp_path, "-proxy=127.1.1.1", "-proxy=0").proxies.for_names is None


def test_credentials_by_connection(tmp_path: Path) -> None:
    options = read(tmp_path, "-proxy=127.1.1.1", "-proxyrandomize=0", "-onion=[::1]:5")
    assert {proxy.isolates for proxy in options.proxies.by_network.values()} == {False}
    assert proxies(options)["onion"] == "[::1]:5"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-proxy=abc..abc:23456"], "Invalid -proxy address or hostname: 'abc..abc:23456'"),
        (["-proxy=192.0.0.1:def"], "Invalid port specified in -proxy: '192.0.0.1:def'"),
        (["-proxy=127.0.0.1:9050="], "Invalid -proxy address or hostname, ends with '=': '127.0.0.1:9050='"),
        (["-proxy=127.0.0.1:9050=foo"], "Unrecognized network in -proxy='127.0.0.1:9050=foo': 'foo'"),
        ([f"-proxy=unix:{'x' * 1000}"], f"Invalid -proxy address or hostname: 'unix:{'x' * 1000}'"),
        (["-onion=xyz..xyz:23456"], "Invalid -onion address or hostname: 'xyz..xyz:23456'"),
        (["-i2psam=def..def:23456"], "Invalid -i2psam address or hostname: 'def..def:23456'"),
        (["-onlynet=i2p"], "Outbound connections restricted to i2p (-onlynet=i2p) but -i2psam is not provided"),
        (["-onlynet=abc"], "Unknown network specified in -onlynet: 'abc'"),
        (
            ["-onlynet=cjdns"],
            "Outbound connections restricted to CJDNS (-onlynet=cjdns) but -cjdnsreachable is not provided",
        ),
        (
            ["-onlynet=onion", "-noonion"],
            f"{ONLY_ONION} explicitly forbidden: -onion=0",
        ),
        (
            ["-onlynet=onion", "-listenonion=0"],
            f"{ONLY_ONION} not provided: none of -proxy, -onion or -listenonion is given",
        ),
        (["-externalip=nowhere..x"], "Cannot resolve -externalip address: 'nowhere..x'"),
        (
            ["-forcednsseed", "-dnsseed=0"],
            "Cannot set -forcednsseed to true when setting -dnsseed to false.",
        ),
        (
            ["-dnsseed", "-onlynet=onion"],
            "Incompatible options: -dnsseed=1 was explicitly specified, but -onlynet forbids connections to IPv4/IPv6",
        ),
        (["-maxuploadtarget=abc"], "Unable to parse -maxuploadtarget: 'abc'"),
        (["-maxconnections=-1"], "-maxconnections must be greater or equal than zero"),
        (["-peertimeout=0"], "peertimeout must be a positive integer."),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, *arguments)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("arguments", "dns", "discover"),
    [
        ([], True, True),
        (["-connect=1.2.3.4"], False, False),
        (["-maxconnections=0"], False, False),
        (["-proxy=127.0.0.1"], True, False),
        (["-externalip=1.2.3.4"], True, False),
        (["-onlynet=onion"], False, True),
        (["-connect=1.2.3.4", "-listen", "-dnsseed"], True, True),
    ],
)
def test_what_follows_from_other_options(tmp_path: Path, arguments: list[str], dns: bool, discover: bool) -> None:
    options = read(tmp_path, *arguments)
    assert (options.seeds.dns, options.discover) == (dns, discover)


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1 << 20), ("1k", 1000), ("2K", 2048), ("3m", 3_000_000), ("1G", 1 << 30), ("1t", 10**12)]
)
def test_bytes_with_units(tmp_path: Path, text: str, size: int) -> None:
    assert read(tmp_path, f"-maxuploadtarget={text}").max_upload_bytes == size


def test_addresses_of_cjdns(tmp_path: Path) -> None:
    private = read(tmp_path).local_view
    on_cjdns = read(tmp_path, "-cjdnsreachable").local_view
    options = read(tmp_path, "-externalip=1.2.3.4:5")
    (endpoint,) = options.external
    assert str(endpoint) == "1.2.3.4:5"
    address = read(tmp_path, "-externalip=fc00::1").external[0].address
    assert (private(address).network, on_cjdns(address).network) == (Network.IPV6, Network.CJDNS)


def test_where_tor_is_asked_for_an_onion_service(tmp_path: Path) -> None:
    assert read(tmp_path, "-listen=0").tor is None
    usual = read(tmp_path, "-listen=1").tor
    assert usual is not None
    assert (usual.control, usual.password, usual.finds_proxy, usual.may_reach) == ("127.0.0.1:9051", "", True, True)
    other = read(tmp_path, "-listen=1", "-torcontrol=localhost:2", "-torpassword=x", "-onion=0", "-onlynet=ipv4").tor
    assert other is not None
    assert (other.control, other.password, other.finds_proxy, other.may_reach) == ("localhost:2", "x", False, False)


def test_the_map_of_autonomous_systems(tmp_path: Path) -> None:
    assert read(tmp_path).asmap is None
    assert read(tmp_path, "-noasmap").asmap is None
    assert read(tmp_path, "-asmap=map.dat").asmap == "map.dat"
    for truth in ("-asmap", "-asmap=1"):
        with pytest.raises(ConfigError, match="Embedded asmap data not available"):
            read(tmp_path, truth)
