"""The mempool of a real node over restarts: what is stored, what comes back, and what a kill or an option changes."""

import time
from pathlib import Path

from helpers.anyone import made_by, mine, mine_money, send, spend
from helpers.node import Node

PATIENCE_S = 30


def loaded(node: Node) -> Node:
    """Wait until the stored mempool has been taken in."""
    deadline = time.monotonic() + PATIENCE_S
    while not node.rpc("getmempoolinfo")["loaded"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return node


def entries(node: Node) -> dict[str, dict[str, object]]:
    """Return the entries of the mempool without what is new in each run of the node."""
    found = node.rpc("getrawmempool", True)
    return {
        txid: {key: entry[key] for key in ("time", "fees", "depends", "unbroadcast")} for txid, entry in found.items()
    }


def test_the_mempool_outlives_the_node(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        loaded(node)
        parent = spend(mine_money(node, 1))
        child = spend([made_by(parent)])
        send(node, parent)
        node.rpc("prioritisetransaction", send(node, child), 0, 5000)
        node.rpc("prioritisetransaction", "11" * 32, 0, -7)
        before = entries(node)
        assert len(before) == 2
        for options in (["-persistmempoolv1"], []):
            node.stop()
            node.start(*options)
            assert entries(loaded(node)) == before
        assert node.rpc("getprioritisedtransactions")["11" * 32]["fee_delta"] == -7


def test_what_was_not_stored_is_gone_and_what_was_is_judged_again(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        confirmed, stored, lost = (spend([each]) for each in mine_money(loaded(node), 3))
        send(node, confirmed)
        send(node, stored)
        node.rpc("savemempool")
        send(node, lost)
        node.rpc("generateblock", f"raw({confirmed.outputs[0].script_pubkey.hex()})", [confirmed.raw.hex()])
        node.kill()
        node.start()
        assert list(entries(loaded(node))) == [stored.txid[::-1].hex()]
        assert "1 succeeded, 1 failed, 0 expired, 0 already there" in node.debug_log()


def test_a_mempool_that_is_not_kept_is_neither_loaded_nor_stored(tmp_path: Path) -> None:
    with Node(tmp_path, "-persistmempool=0") as node:
        tx = spend(mine_money(loaded(node), 1))
        send(node, tx)
        node.stop()
        assert not (node.chain_dir / "mempool.dat").exists()
        node.start()
        assert entries(loaded(node)) == {}
        send(node, tx)
        mine(node)
        assert entries(node) == {}
