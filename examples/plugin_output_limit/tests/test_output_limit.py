"""The plugin in a node."""

from collections.abc import Callable

import pytest

from clarion.plugins.testing import NodeRefused, RegtestNode


def test_more_outputs_than_the_limit_are_refused(clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=output_limit:OutputLimit", "-maxoutputs=2", "-acceptnonstdtxn=1")
    block = node.mine(101)[0]
    coin = {"txid": node.rpc("getblock", block)["tx"][0], "vout": 0}
    script = node.rpc("decodescript", "51")["p2sh"]
    other = node.rpc("decodescript", "52")["p2sh"]
    three = node.rpc("createrawtransaction", [coin], [{script: 20}, {other: 29.9999}, {"data": "00" * 20}])
    with pytest.raises(NodeRefused, match="operator-policy, output_limit:OutputLimit: 3 outputs"):
        node.rpc("sendrawtransaction", three)
    two = node.rpc("createrawtransaction", [coin], [{script: 20}, {other: 29.9999}])
    assert node.rpc("sendrawtransaction", two) in node.rpc("getrawmempool")


def test_limit_must_be_a_number(clarion_node: Callable[..., RegtestNode]) -> None:
    with pytest.raises(AssertionError, match="-maxoutputs=few: a number expected"):
        clarion_node("-plugin=output_limit:OutputLimit", "-maxoutputs=few")
