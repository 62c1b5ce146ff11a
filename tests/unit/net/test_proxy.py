"""SOCKS5, against a proxy of the test's own."""

import asyncio
from collections.abc import Callable

import pytest

from clarion.node.errors import PeerError
from clarion.node.net.proxy import Proxy, connect_through, connect_to_proxy
from helpers.addresses import endpoint_of
from helpers.node import free_port

SUCCESS = b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50"


class Socks:
    """A proxy that answers what it is told to; `asked` is what it heard."""

    def __init__(self, method: bytes = b"\x05\x00", answer: bytes = SUCCESS, verdict: bytes = b"\x01\x00") -> None:
        self.method, self.answer, self.verdict = method, answer, verdict
        self.asked: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting = await reader.readexactly(2)
        self.asked.append(greeting + await reader.readexactly(greeting[1]))
        writer.write(self.method)
        if self.method[1] == 2:
            user = (await reader.readexactly(2))[1]
            name = await reader.readexactly(user)
            password = await reader.readexactly((await reader.readexactly(1))[0])
            self.asked.append(name + b":" + password)
            writer.write(self.verdict)
        head = await reader.readexactly(5)
        self.asked.append(head + await reader.readexactly(head[4] + 2))
        writer.write(self.answer)
        writer.close()


def use(socks: Socks, *, isolates: bool = False, times: int = 1) -> None:
    async def main() -> None:
        port = free_port()
        server = await asyncio.start_server(socks.serve, "127.0.0.1", port)
        proxy = Proxy(endpoint_of(f"127.0.0.1:{port}"), isolates=isolates)
        try:
            for _ in range(times):
                streams = await connect_to_proxy(proxy, 1 << 16)
                try:
                    await connect_through(proxy, streams, "node.onion", 8333)
                finally:
                    streams[1].close()
        finally:
            server.close()
            await asyncio.sleep(0.02)

    asyncio.run(main())


def test_names_are_left_to_the_proxy() -> None:
    socks = Socks()
    use(socks)
    assert socks.asked == [b"\x05\x01\x00", b"\x05\x01\x00\x03\x0anode.onion\x20\x8d"]


def test_each_connection_has_credentials_of_its_own() -> None:
    socks = Socks(method=b"\x05\x02")
    use(socks, isolates=True, times=2)
    first, second = socks.asked[1], socks.asked[4]
    assert socks.asked[0] == b"\x05\x02\x00\x02"
    assert first != second
    assert all(name == password for name, password in (first.split(b":"), second.split(b":")))
    assert first.split(b"-")[0] == second.split(b"-")[0]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Socks(method=b"\x04\x00"), "Proxy failed to initialize"),
        (lambda: Socks(method=b"\x05\x02"), "Proxy requested wrong authentication method 02"),
        (lambda: Socks(method=b"\x05\xff"), "Proxy requested wrong authentication method ff"),
        (lambda: Socks(answer=b"\x05\x04\x00\x01"), "host unreachable"),
        (lambda: Socks(answer=b"\x05\x99\x00\x01"), "unknown \\(0x99\\)"),
        (lambda: Socks(answer=b"\x04\x00\x00\x01"), "Proxy failed to accept request"),
        (lambda: Socks(answer=b"\x05\x00\x01\x01"), "malformed"),
        (lambda: Socks(answer=b"\x05\x00\x00\x09"), "malformed"),
        (lambda: Socks(answer=b"\x05\x00"), "failed"),
    ],
)
def test_proxies_that_refuse(make: Callable[[], Socks], error: str) -> None:
    with pytest.raises(PeerError, match=error):
        use(make())


def test_credentials_that_are_refused() -> None:
    with pytest.raises(PeerError, match="authentication unsuccessful"):
        use(Socks(method=b"\x05\x02", verdict=b"\x01\x01"), isolates=True)


def test_how_a_proxy_is_shown() -> None:
    assert str(Proxy(endpoint_of("127.0.0.1:9050"))) == "127.0.0.1:9050"
    assert str(Proxy(None, "/run/tor")) == "unix:/run/tor"
