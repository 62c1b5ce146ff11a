"""The plugin in a node."""

from collections.abc import Callable

import pytest

from clarion.plugins.testing import RegtestNode

ADDRESS = "bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202"


def test_payment_is_told_on_its_whole_way(clarion_node: Callable[..., RegtestNode]) -> None:
    node = clarion_node("-plugin=payments:Payments", f"-payaddress={ADDRESS}", "-acceptnonstdtxn=1")
    coin = node.rpc("getblock", node.mine(101)[0])["tx"][0]
    raw = node.rpc("createrawtransaction", [{"txid": coin, "vout": 0}], [{ADDRESS: 49.99}])
    txid = node.rpc("sendrawtransaction", raw, 0)
    (block,) = node.mine()
    node.rpc("invalidateblock", block)
    told = node.folder / "payments.txt"
    node.wait_until(lambda: told.exists() and len(told.read_text().splitlines()) >= 4)
    lines = [line.split()[1:] for line in told.read_text().splitlines()]
    assert [(line[0], line[1]) for line in lines[:4]] == [(word, txid) for word in ("seen", "paid", "unpaid", "seen")]
    assert lines[1][2:] == ["4999000000", "sat,", "height", "102"]


def test_wrong_address_ends_the_start(clarion_node: Callable[..., RegtestNode]) -> None:
    with pytest.raises(AssertionError, match="plugin payments:Payments: configure failed"):
        clarion_node("-plugin=payments:Payments", "-payaddress=nonsense")
