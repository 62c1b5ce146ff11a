"""Cookie, -rpcauth, whitelists and allowed addresses."""

import base64
import stat
from pathlib import Path

import pytest

from clarion.api.auth import (
    Authenticator,
    delete_cookie,
    is_allowed,
    parse_allowed,
    parse_rpcauth,
    parse_whitelist,
    salted,
    write_cookie,
)
from clarion.node.errors import ConfigError

# Made by the reference's tool for the password below.
RPCAUTH = "rt:93648e835a54c573682c2eb19f882535$7681e9c5b74bdd85e78166031d2058e1069b3ed7ed967c93fc63abba06f31144"
RPCAUTH_PASSWORD = "cA773lm788buwYe4g4WT+05pKyNruVKjQ25x3n0DQcM="


def basic(user: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{user}:{password}".encode())


@pytest.mark.parametrize(
    ("perms", "mode"), [(None, 0o600), ("owner", 0o600), ("group", 0o640), ("all", 0o644)], ids=str
)
def test_cookie_file(tmp_path: Path, perms: str | None, mode: int) -> None:
    path = tmp_path / ".cookie"
    user, password = write_cookie(path, perms)
    assert path.read_text() == f"__cookie__:{password}"
    assert (user, len(password)) == ("__cookie__", 64)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert [entry.name for entry in tmp_path.iterdir()] == [".cookie"]


def test_cookie_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Invalid -rpccookieperms=everyone"):
        write_cookie(tmp_path / ".cookie", "everyone")
    with pytest.raises(ConfigError, match="Unable to open cookie"):
        write_cookie(tmp_path / "missing" / ".cookie")


def test_deleted_cookie_may_be_gone(tmp_path: Path) -> None:
    write_cookie(tmp_path / ".cookie")
    delete_cookie(tmp_path / ".cookie")
    delete_cookie(tmp_path / ".cookie")
    assert not list(tmp_path.iterdir())


def test_rpcauth_of_the_reference() -> None:
    authenticator = Authenticator([parse_rpcauth(RPCAUTH)])
    assert authenticator.user_of(basic("rt", RPCAUTH_PASSWORD)) == "rt"
    assert authenticator.user_of(basic("rt", RPCAUTH_PASSWORD)) == "rt"
    assert authenticator.user_of(basic("rt", RPCAUTH_PASSWORD + "x")) is None
    assert authenticator.user_of(basic("other", RPCAUTH_PASSWORD)) is None


@pytest.mark.parametrize("header", [b"", b"Bearer x", b"Basic !", b"Basic " + base64.b64encode(b"nocolon")])
def test_headers_that_say_nothing(header: bytes) -> None:
    assert Authenticator([salted("", "")]).user_of(header) is None


@pytest.mark.parametrize("value", ["user", "user:salt", "a:b:c$d", "user:salt$a$b"])
def test_bad_rpcauth(value: str) -> None:
    with pytest.raises(ConfigError, match="Invalid -rpcauth argument"):
        parse_rpcauth(value)


def test_whitelists_are_intersected() -> None:
    whitelist = parse_whitelist(["u:a,b, c", "u:b,c", "none:", "bare"], None)
    assert whitelist.methods_of("u") == frozenset({"b", "c"})
    assert whitelist.methods_of("none") == frozenset({""})
    assert whitelist.methods_of("bare") == frozenset()
    assert whitelist.methods_of("unlisted") == frozenset()
    assert parse_whitelist([], None).methods_of("unlisted") is None
    assert parse_whitelist(["u:a"], False).methods_of("unlisted") is None


@pytest.mark.parametrize(
    ("client", "allowed"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.1.2.3", True),
        ("1.2.3.4", True),
        ("fd00::1", True),
        ("11.0.7.7", True),
        ("11.1.0.1", False),
        ("10.2.0.1", False),
        ("fe80::1%eth0", False),
        ("nonsense", False),
    ],
)
def test_allowed_clients(client: str, allowed: bool) -> None:
    networks = parse_allowed(["10.1.0.0/16", "1.2.3.4", "1.2.3.5/255.255.255.255", "[fd00::1]", "11.1/16"])
    assert is_allowed(client, networks) is allowed


def test_bad_network() -> None:
    with pytest.raises(ConfigError, match="Invalid -rpcallowip subnet specification: 300"):
        parse_allowed(["300.0.0.0/8"])
