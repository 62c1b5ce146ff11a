"""The list of bans and its file."""

import json
from pathlib import Path

import pytest

from clarion.node.net.address import NetAddress, parse_address
from clarion.node.net.bans import BanList, range_of
from clarion.node.net.subnet import Subnet


class Time:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def address(text: str) -> NetAddress:
    found = parse_address(text)
    assert found is not None
    return found


def subnet(text: str) -> Subnet:
    found = range_of(text)
    assert found is not None
    return found


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def bans(tmp_path: Path, time: Time) -> BanList:
    bans = BanList(tmp_path / "banlist.json", time, 86_400)
    bans.load()
    return bans


def test_a_ban_lasts_its_time(bans: BanList, time: Time) -> None:
    bans.ban(subnet("10.0.0.0/8"), 100)
    assert bans.is_banned(address("10.1.2.3"))
    assert not bans.is_banned(address("11.1.2.3"))
    time.now += 100
    assert not bans.is_banned(address("10.1.2.3"))
    time.now += 1
    assert bans.entries() == []


def test_how_long_a_ban_lasts(bans: BanList, time: Time) -> None:
    bans.ban(subnet("1.1.1.1"))
    bans.ban(subnet("2.2.2.2"), time.now + 5, absolute=True)
    bans.ban(subnet("2.2.2.2"), 3)
    assert [(str(range_), ban.until - time.now) for range_, ban in bans.entries()] == [
        ("1.1.1.1/32", 86_400),
        ("2.2.2.2/32", 5),
    ]
    bans.ban(subnet("2.2.2.2"), 6)
    assert bans.entries()[1][1].until == time.now + 6


def test_lifting_bans(bans: BanList) -> None:
    bans.ban(subnet("1.1.1.0/24"))
    assert bans.is_range_banned(subnet("1.1.1.0/24"))
    assert not bans.is_range_banned(subnet("1.1.1.0/25"))
    assert not bans.unban(subnet("1.1.1.1"))
    assert bans.unban(subnet("1.1.1.77/24"))
    bans.ban(subnet("1.1.1.1"))
    bans.clear()
    assert bans.entries() == []


def test_the_file_has_the_reference_s_form(bans: BanList, tmp_path: Path, time: Time) -> None:
    bans.ban(subnet("2001:4860::1"), 9)
    bans.ban(subnet("10.0.0.0/8"), 9)
    file = json.loads((tmp_path / "banlist.json").read_text())
    assert file["banned_nets"] == [
        {"version": 1, "ban_created": 1_000_000, "banned_until": 1_000_009, "address": "10.0.0.0/8"},
        {"version": 1, "ban_created": 1_000_000, "banned_until": 1_000_009, "address": "2001:4860::1/128"},
    ]
    again = BanList(tmp_path / "banlist.json", time, 1)
    again.load()
    assert again.entries() == bans.entries()


def test_what_is_not_understood_in_the_file(tmp_path: Path, time: Time) -> None:
    path = tmp_path / "banlist.json"
    entry = {"version": 1, "ban_created": 1, "banned_until": 2_000_000, "address": "1.1.1.1/32"}
    path.write_text(json.dumps({"banned_nets": [entry, {**entry, "version": 2}, {**entry, "address": "x"}]}))
    bans = BanList(path, time, 1)
    bans.load()
    assert [str(range_) for range_, _ in bans.entries()] == ["1.1.1.1/32"]
    path.write_text("{")
    broken = BanList(path, time, 1)
    broken.load()
    assert broken.entries() == json.loads(path.read_text())["banned_nets"] == []


def test_discouraged_addresses(bans: BanList) -> None:
    bans.discourage(address("1.1.1.1"))
    assert bans.is_discouraged(address("1.1.1.1"))
    assert bans.is_unwelcome(address("1.1.1.1"))
    assert not bans.is_unwelcome(address("1.1.1.2"))
    assert bans.entries() == []


@pytest.mark.parametrize("text", ["", "0.0.0.0", "1.1.1.1/33", "name"])
def test_what_can_not_be_banned(text: str) -> None:
    assert range_of(text) is None
