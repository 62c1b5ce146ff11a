"""Permissions: how options name them, and who gets them."""

from pathlib import Path

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError
from clarion.node.net.address import parse_address
from clarion.node.net.permissions import (
    Permission,
    Whitelist,
    parse_permitted_bind,
    parse_permitted_range,
    permission_names,
)

HERE, ELSEWHERE = parse_address("127.0.0.1"), parse_address("1.2.3.4")


def test_named_permissions_and_directions() -> None:
    range_ = parse_permitted_range("noban,out,mempool,@127.0.0.1/8")
    assert permission_names(range_.permissions) == ["noban", "mempool", "download"]
    assert (range_.inbound, range_.outbound, str(range_.subnet)) == (False, True, "127.0.0.0/8")
    assert parse_permitted_range("bloom@::1").permissions == Permission.BLOOM_FILTER
    assert parse_permitted_range("@::1").inbound
    assert permission_names(parse_permitted_range("all@::1").permissions) == [
        "bloomfilter", "noban", "forcerelay", "relay", "mempool", "download", "addr",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("in,out@127.0.0.1", "Only direction was set, no permissions: 'in,out@127.0.0.1'"),
        ("oopsie@127.0.0.1", "Invalid P2P permission: 'oopsie'"),
        ("noban@127.0.0.1:230", "Invalid netmask specified in -whitelist: '127.0.0.1:230'"),
        ("127.0.0.1/33", "Invalid netmask specified in -whitelist: '127.0.0.1/33'"),
    ],
)
def test_wrong_ranges(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_permitted_range(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("noban@127.0.0.1/10", "Cannot resolve -whitebind address: '127.0.0.1/10'"),
        ("noban@127.0.0.1", "Need to specify a port with -whitebind: '127.0.0.1'"),
        ("noban,out@127.0.0.1:1", 'whitebind may only be used for incoming connections ("out" was passed)'),
    ],
)
def test_wrong_binds(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_permitted_bind(text)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("relay", "force_relay", "names"),
    [
        (True, False, ["noban", "relay", "mempool", "download"]),
        (False, False, ["noban", "mempool", "download"]),
        (False, True, ["noban", "forcerelay", "relay", "mempool", "download"]),
    ],
)
def test_permissions_that_are_not_named(relay: bool, force_relay: bool, names: list[str]) -> None:
    whitelist = Whitelist((parse_permitted_range("127.0.0.1"),), relay=relay, force_relay=force_relay)
    assert permission_names(whitelist.inbound(HERE)) == names
    assert whitelist.inbound(ELSEWHERE) == whitelist.outbound(HERE) == Permission.NONE


def test_who_is_hidden_has_what_the_bind_gives() -> None:
    whitelist = Whitelist((parse_permitted_range("noban@0.0.0.0/0"), parse_permitted_range("relay,out@1.2.3.4")))
    bind = parse_permitted_bind("mempool@127.0.0.1:8333")
    assert whitelist.inbound(None, bind.permissions) == Permission.MEMPOOL
    assert whitelist.inbound(HERE, bind.permissions) == Permission.MEMPOOL | Permission.NO_BAN
    assert whitelist.outbound(ELSEWHERE) == Permission.RELAY


def test_options_of_the_whitelist(tmp_path: Path) -> None:
    def read(*options: str) -> Whitelist:
        return load_config([f"-datadir={tmp_path}", "-regtest", *options], {}).net.whitelist

    assert read("-whitelist=127.0.0.1").ranges == (parse_permitted_range("127.0.0.1"),)
    assert (read().relay, read("-blocksonly").relay, read("-whitelistrelay=0").relay) == (True, False, False)
    assert read("-blocksonly", "-whitelistforcerelay").force_relay
