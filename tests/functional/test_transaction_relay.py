"""Nodes that get their transactions from each other."""

from pathlib import Path

from clarion.node.primitives.ids import hash_to_hex
from helpers.anyone import Money, made_by, mine, mine_money, send, spend
from helpers.node import Node, free_port
from helpers.waiting import wait_for


def listening(folder: Path, *options: str) -> tuple[Node, str]:
    port = free_port()
    options = ("-listen=1", f"-bind=127.0.0.1:{port}", "-whitelist=in,out,noban@127.0.0.1", *options)
    return Node(folder, *options), f"127.0.0.1:{port}"


def same_pool(*nodes: Node) -> bool:
    return len({tuple(sorted(node.rpc("getrawmempool"))) for node in nodes}) == 1


def meet(first: Node, second: Node, address: str) -> list[Money]:
    """Connect two nodes and return mature coins that both know."""
    money = mine_money(first, 4)
    second.rpc("addnode", address, "onetry")
    wait_for(lambda: bool(second.rpc("getblockcount") == first.rpc("getblockcount")))
    return money


def test_transactions_go_both_ways(tmp_path: Path) -> None:
    first, address = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b")
    with first, second:
        money = meet(first, second, address)
        parent = spend([money[0]], outputs=2)
        child = spend([made_by(parent)])
        for node, tx in ((first, parent), (first, child), (second, spend([money[1]]))):
            send(node, tx)
        wait_for(lambda: same_pool(first, second))
        assert len(first.rpc("getrawmempool")) == 3
        wait_for(lambda: all(node.rpc("getmempoolinfo")["unbroadcastcount"] == 0 for node in (first, second)))
        mine(second)
        wait_for(lambda: first.rpc("getrawmempool") == [])
        (peer,) = first.rpc("getpeerinfo")
        assert peer["last_transaction"] > 0
        assert (peer["relaytxes"], peer["inv_to_send"]) == (True, 0)


def test_a_package_of_parent_and_child_spreads(tmp_path: Path) -> None:
    first, address = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b")
    with first, second:
        money = meet(first, second, address)
        parent = spend([money[0]], fee_sat=0)
        child = spend([made_by(parent)], fee_sat=5_000)
        first.rpc("submitpackage", [parent.raw.hex(), child.raw.hex()])
        wait_for(lambda: same_pool(first, second))
        assert set(second.rpc("getrawmempool")) == {hash_to_hex(tx.txid) for tx in (parent, child)}


def test_a_node_that_takes_blocks_only_still_sends(tmp_path: Path) -> None:
    first, address = listening(tmp_path / "a", "-blocksonly")
    second, _ = listening(tmp_path / "b")
    with first, second:
        money = meet(first, second, address)
        (peer,) = second.rpc("getpeerinfo")
        assert peer["relaytxes"] is False
        send(second, spend([money[0]]))
        sent = send(first, spend([money[1]]))
        wait_for(lambda: sent in second.rpc("getrawmempool"))
        assert first.rpc("getrawmempool") == [sent]
