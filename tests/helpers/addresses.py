"""Addresses of other nodes, made up for tests.

Owns: short ways to say them. Never: asserting.
"""

from clarion.node.net.address import Endpoint, NetAddress, parse_address, parse_endpoint
from clarion.node.net.messages.addresses import TimedAddress

NOW = 1_700_000_000
"""The time that these tests take place at."""
ONION = "pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion"


class Time:
    """A clock that stands still until the test moves it."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def address_of(text: str) -> NetAddress:
    """Return the address that a text says in numbers."""
    found = parse_address(text)
    assert found is not None
    return found


def endpoint_of(text: str, port: int = 8333) -> Endpoint:
    """Return the endpoint that a text says in numbers."""
    found = parse_endpoint(text, port)
    assert found is not None
    return found


def timed(text: str, *, age_s: int = 0, services: int = 9) -> TimedAddress:
    """Return an address that was seen so many seconds ago."""
    return TimedAddress(NOW - age_s, services, endpoint_of(text))


def many(count: int, *, age_s: int = 0) -> list[TimedAddress]:
    """Return addresses of many groups."""
    return [
        timed(f"{20 + number % 100}.{number // 100 % 250}.{number % 250}.{1 + number // 25_000}", age_s=age_s)
        for number in range(count)
    ]
