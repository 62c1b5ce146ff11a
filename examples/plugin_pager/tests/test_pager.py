"""The plugin in a node."""

import socket
from collections.abc import Callable, Iterator

import pytest

from clarion.plugins.testing import RegtestNode


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Return a TCP server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def test_every_block_is_a_line(server: socket.socket, clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=pager", f"-pager=127.0.0.1:{server.getsockname()[1]}")
    blocks = node.mine(3)
    connection, _ = server.accept()
    with connection, connection.makefile() as lines:
        assert next(lines).startswith("0 ")  # the first block of a new chain is told, too
        assert [next(lines) for _ in blocks] == [f"{at} {block} 1\n" for at, block in enumerate(blocks, 1)]


def test_wrong_address_ends_the_start(clarion_node: Callable[..., RegtestNode]) -> None:
    with pytest.raises(AssertionError, match="-pager=nowhere: <host>:<port> expected"):
        clarion_node("-plugin=pager", "-pager=nowhere")
