"""The plugin in a node."""

import json
from collections.abc import Callable

import pytest

from clarion.plugins.testing import NodeRefused, RegtestNode


def test_sizes_are_those_of_getblock(clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=block_sizes")
    for height, block in enumerate(node.mine(3), 1):
        size = node.rpc("getblock", block)["size"]
        assert node.rpc("getblocksize", height) == size
        assert json.loads(node.http("GET", f"/v1/sizes/{height}")[1]) == {"size": size}


def test_another_block_takes_the_place_of_one_that_left_the_chain(clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=block_sizes")
    before = [node.rpc("getblocksize", height) for height, _ in enumerate(node.mine(2), 1)]
    node.rpc("invalidateblock", node.rpc("getblockhash", 1))
    node.rpc("generatetodescriptor", 1, f"raw({'00' * 50}51)")
    assert node.rpc("getblocksize", 1) > before[0]
    with pytest.raises(NodeRefused, match="out of range"):
        node.rpc("getblocksize", 2)
    assert node.http("GET", "/v1/sizes/x")[0] == 400
