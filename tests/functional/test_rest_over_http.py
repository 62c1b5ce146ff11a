"""REST against a real node."""

from collections.abc import Iterator

import pytest

from helpers.node import Node


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with three blocks."""
    with Node(tmp_path_factory.mktemp("rest"), "-apiworkers=1", "-par=1", "-eventsprocess=0") as node:
        node.rpc("generatetodescriptor", 3, "raw(51)")
        yield node


def test_block_in_all_formats(node: Node) -> None:
    tip = node.rpc("getbestblockhash")
    status, raw = node.rest(f"block/{tip}.bin")
    assert (status, raw.hex()) == (200, node.rpc("getblock", tip, 0))
    assert node.rest(f"block/{tip}.hex") == (200, raw.hex().encode() + b"\n")
    assert tip.encode() in node.rest(f"block/{tip}.json")[1]


def test_chain(node: Node) -> None:
    genesis = node.rpc("getblockhash", 0)
    assert len(node.rest(f"headers/{genesis}.bin?count=10")[1]) == 4 * 80
    assert node.rest("blockhashbyheight/0.bin") == (200, bytes.fromhex(genesis)[::-1])
    assert node.rest(f"spenttxouts/{genesis}.bin") == (200, b"\x01\x00")
    assert node.rest("chaininfo.json")[1].startswith(b'{"chain":"regtest","blocks":3,')


def test_path_is_taken_as_it_was_sent(node: Node) -> None:
    assert node.rest("block/%7a.bin") == (400, b"Invalid hash: %7a\r\n")
    assert node.rest("nosuch") == (404, b"")


def test_no_credentials_are_needed(node: Node) -> None:
    assert node.request("GET", "/rest/chaininfo.json")[0] == 200
    assert node.request("POST", "/rest/chaininfo.json", b"{}")[0] == 200
