"""Transactions sent to a real node: with and without script workers, many at once, packages, and the block after."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clarion.node.primitives.ids import hash_to_hex
from helpers.anyone import made_by, mine, mine_money, spend
from helpers.node import Node, RpcFailure

CALLERS = 4


@pytest.mark.parametrize("par", ["1", "2"])
def test_many_callers_send_and_a_block_confirms(tmp_path: Path, par: str) -> None:
    with Node(tmp_path, f"-par={par}") as node:
        txs = [spend([money]) for money in mine_money(node, 12)]
        raws = [tx.raw.hex() for tx in txs]
        with ThreadPoolExecutor(CALLERS) as callers:
            tested = list(callers.map(lambda raw: node.rpc("testmempoolaccept", [raw])[0], raws))
            sent = list(callers.map(lambda raw: node.rpc("sendrawtransaction", raw), raws))
        assert all(answer["allowed"] for answer in tested)
        assert sent == [hash_to_hex(tx.txid) for tx in txs]
        assert node.rpc("getmempoolinfo")["unbroadcastcount"] == len(txs)
        mine(node)
        assert node.rpc("getrawmempool") == []
        with pytest.raises(RpcFailure, match="Transaction outputs already in utxo set") as caught:
            node.rpc("sendrawtransaction", raws[0])
        assert caught.value.code == -27


@pytest.mark.parametrize("par", ["1", "2"])
def test_a_child_pays_for_its_parent(tmp_path: Path, par: str) -> None:
    with Node(tmp_path, f"-par={par}") as node:
        (money,) = mine_money(node, 1)
        parent = spend([money], fee_sat=0)
        child = spend([made_by(parent)], fee_sat=10_000)
        package = [parent.raw.hex(), child.raw.hex()]
        with pytest.raises(RpcFailure, match="min relay fee not met, 0 < ") as caught:
            node.rpc("sendrawtransaction", package[0])
        assert caught.value.code == -26
        assert node.rpc("submitpackage", package)["package_msg"] == "success"
        assert set(node.rpc("getrawmempool")) == {hash_to_hex(parent.txid), hash_to_hex(child.txid)}
        (block,) = mine(node)
        assert len(node.rpc("getblock", block)["tx"]) == 3
