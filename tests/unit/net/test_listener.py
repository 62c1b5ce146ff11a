"""What the options ask to listen on."""

import pytest

from clarion.node.config import load_config
from clarion.node.errors import ConfigError
from clarion.node.net.listener import binds_of
from clarion.node.net.permissions import Permission


def binds(*arguments: str) -> list[str]:
    options = load_config(["-regtest", *arguments], {}).net
    return [f"{each.endpoint}{' onion' * each.onion}" for each in binds_of(options, 18444)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["127.0.0.1:18445 onion", "[::]:18444", "0.0.0.0:18444"]),
        (["-port=5"], ["127.0.0.1:6 onion", "[::]:5", "0.0.0.0:5"]),
        (["-bind=127.0.0.1"], ["127.0.0.1:18444"]),
        (["-bind=[::1]:7", "-bind=127.0.0.1=onion"], ["[::1]:7", "127.0.0.1:18445 onion"]),
        (["-bind=127.0.0.1:9=onion"], ["127.0.0.1:9 onion"]),
        (["-connect=1.2.3.4"], []),
        (["-maxconnections=0"], []),
        (["-proxy=127.0.0.1:9050"], []),
        (["-connect=1.2.3.4", "-whitebind=noban@127.0.0.1:3"], ["127.0.0.1:3", "127.0.0.1:18445 onion"]),
    ],
)
def test_binds(arguments: list[str], expected: list[str]) -> None:
    assert binds(*arguments) == expected


def test_permissions_of_a_bind() -> None:
    options = load_config(["-regtest", "-whitebind=relay@127.0.0.1:3"], {}).net
    assert binds_of(options, 1)[0].permissions == Permission.RELAY


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-bind=127.0.0.1:5", "-bind=127.0.0.1:5=onion"], "Duplicate binding configuration for address 127.0.0.1:5"),
        (["-bind=127.0.0.1:99999"], "Invalid port specified in -bind: '127.0.0.1:99999'"),
        (["-bind=nowhere"], "Cannot resolve -bind address: 'nowhere'"),
        (["-bind=127.0.0.1=tor"], "Cannot resolve -bind address: '127.0.0.1=tor'"),
        (["-whitebind=noban@127.0.0.1:5", "-listen=0"], "Cannot set -bind or -whitebind together with -listen=0"),
        (["-listenonion", "-listen=0"], "Cannot set -listen=0 together with -listenonion=1"),
    ],
)
def test_what_is_refused(arguments: list[str], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        binds(*arguments)
