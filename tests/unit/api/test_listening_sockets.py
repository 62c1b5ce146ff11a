"""Where the RPC port is bound, and what is said when it can't be."""

import socket

import pytest

from clarion.api.listen import bind_addresses, bind_sockets, split_host_port
from clarion.node.errors import ConfigError
from helpers.node import free_port


@pytest.mark.parametrize(
    ("bind", "allow", "addresses"),
    [
        pytest.param((), (), [("::1", 5), ("127.0.0.1", 5)], id="loopback"),
        pytest.param(("0.0.0.0",), (), [("::1", 5), ("127.0.0.1", 5)], id="bind-without-allow-is-ignored"),
        pytest.param((), ("10.0.0.1",), [("::1", 5), ("127.0.0.1", 5)], id="allow-without-bind"),
        pytest.param(("0.0.0.0:7", "[::]:8", "::1"), ("1.1.1.1",), [("0.0.0.0", 7), ("::", 8), ("::1", 5)], id="both"),
    ],
)
def test_addresses(bind: tuple[str, ...], allow: tuple[str, ...], addresses: list[tuple[str, int]]) -> None:
    assert bind_addresses(bind, 5, allow) == addresses


@pytest.mark.parametrize("text", ["127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "[::1]:99999", "[::1"])
def test_bad_port(text: str) -> None:
    with pytest.raises(ConfigError, match="Invalid port specified in -rpcbind"):
        split_host_port(text, 1)


def test_sockets_listen_at_once() -> None:
    port = free_port()
    sockets = bind_sockets((), port)
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        assert {listener.getsockname()[1] for listener in sockets} == {port}
    for listener in sockets:
        listener.close()


def test_port_in_use_is_one_line_that_names_the_address() -> None:
    port = free_port()
    sockets = bind_sockets((), port)
    with pytest.raises(ConfigError) as caught:
        bind_sockets(("127.0.0.1",), port, ("127.0.0.1",), wait_s=0)
    assert str(caught.value).startswith(f"Unable to bind to 127.0.0.1:{port} on this computer")
    assert "\n" not in str(caught.value)
    for listener in sockets:
        listener.close()


def test_foreign_address() -> None:
    with pytest.raises(ConfigError, match=r"Unable to bind to 192\.0\.2\.1:"):
        bind_sockets(("192.0.2.1",), free_port(), ("127.0.0.1",), wait_s=0)
