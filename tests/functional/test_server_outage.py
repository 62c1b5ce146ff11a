"""A node on a PostgreSQL server that goes away and comes back: it waits, loses nothing and tells nothing twice."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clarion.node.events.row import EventKind
from clarion.node.params.chain_params import select_params
from clarion.node.storage.chain_reader import ChainReader
from helpers.event_source import wait_until
from helpers.node import Node, RpcFailure
from helpers.own_postgres import OwnPostgres, own_postgres

ANYONE = "raw(51)#8lvh9jxk"

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[OwnPostgres]:
    """A server of the test's own."""
    with own_postgres() as running:
        yield running


def connected_heights(node: Node, url: str) -> list[int]:
    """Return the heights of the blocks that the log tells of."""
    with ChainReader(url, node.chain_dir, select_params("regtest")) as reader:
        rows = reader.events.read(0, 100_000)
    return [row.height for row in rows if row.kind is EventKind.BLOCK_CONNECTED]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_blocks_are_mined_through_an_outage(server: OwnPostgres, tmp_path: Path, mode: str) -> None:
    with Node(tmp_path, "-par=1", f"-database={server.url}", topics=["hashblock"]) as node:
        node.rpc("generatetodescriptor", 5, ANYONE)
        # Else the last of these could still be told to the subscriber.
        node.rpc("syncwithvalidationinterfacequeue")
        with node.subscriber("hashblock") as subscriber:
            server.stop(mode)
            threading.Timer(1.0, server.start).start()
            hashes = [node.rpc("generatetodescriptor", 1, ANYONE)[0] for _ in range(10)]
            assert [body.hex() for _, body, _ in subscriber.drain(2.0)] == hashes
        assert node.rpc("getblockcount") == 15
        assert node.rpc("getbestblockhash") == hashes[-1]
        assert "works again after" in node.debug_log()
        assert connected_heights(node, server.url) == list(range(16))


def test_clients_are_not_told_where_the_database_is(server: OwnPostgres, tmp_path: Path) -> None:
    with Node(tmp_path, "-par=1", f"-database={server.url}") as node:
        node.rpc("generatetodescriptor", 1, ANYONE)
        server.stop("immediate")
        with pytest.raises(RpcFailure, match="The node's database does not answer") as caught:
            node.rpc("getblockhash", 1)
        assert "postgres" not in str(caught.value)
        status, body = node.rest("blockhashbyheight/1.json")
        assert status == 500
        assert b"postgres" not in body
        assert node.terminate() in (0, 1)
        log = node.debug_log()
    assert "RPC method getblockhash failed: postgresql" in log
    assert "Traceback" not in log


def test_node_stops_while_calls_wait_for_the_server(server: OwnPostgres, tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", f"-database={server.url}")
    node.start()
    node.rpc("generatetodescriptor", 5, ANYONE)
    server.stop("immediate")
    with ThreadPoolExecutor() as callers:
        mining = callers.submit(node.rpc, "generatetodescriptor", 1, ANYONE)
        callers.submit(node.rpc, "gettxoutsetinfo")
        wait_until(lambda: "; trying again" in node.debug_log(), timeout_s=30)
        assert node.terminate() in (0, 1)
        # Nothing is told that was not committed: an error, or that nothing was mined any more.
        assert mining.exception() is not None or mining.result() == []
    server.start()
    with node:
        assert node.rpc("getblockcount") in (5, 6)


def test_node_stops_while_the_server_is_away(server: OwnPostgres, tmp_path: Path) -> None:
    node = Node(tmp_path, "-par=1", f"-database={server.url}")
    node.start()
    tip = node.rpc("generatetodescriptor", 5, ANYONE)[-1]
    server.stop("immediate")
    assert node.terminate() in (0, 1)
    server.start()
    with node:
        assert node.rpc("getbestblockhash") == tip
        assert node.rpc("gettxoutsetinfo")["bestblock"] == tip
