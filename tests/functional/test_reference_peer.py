"""Bitcoin Core as a peer: blocks and transactions pass both ways, on both transports, whoever dials."""

from pathlib import Path

import pytest

from helpers.anyone import MATURITY, mine, mine_money, send, spend
from helpers.node import Node, free_port
from helpers.reference_node import ReferenceNode
from helpers.waiting import wait_for

TRUST = "-whitelist=noban,in,out@127.0.0.1"
"""Transactions pass without the random delay of seconds."""


def wait_same_tip(*nodes: Node) -> None:
    wait_for(lambda: len({node.rpc("getbestblockhash") for node in nodes}) == 1)


def wait_pool(txids: set[str], *nodes: Node) -> None:
    wait_for(lambda: all(set(node.rpc("getrawmempool")) == txids for node in nodes))


@pytest.mark.parametrize("transport", ["v2", "v1"])
@pytest.mark.parametrize("we_dial", [True, False], ids=["we dial", "it dials"])
def test_sync_and_relay(tmp_path: Path, transport: str, we_dial: bool) -> None:
    ports = free_port(), free_port()
    reference, ours = nodes = [
        kind(tmp_path / kind.__name__, "-listen=1", f"-bind=127.0.0.1:{port}", TRUST, "-v2transport=1")
        for kind, port in zip((ReferenceNode, Node), ports, strict=True)
    ]
    with reference, ours:
        # The longer chain is the one that the dialling side has not.
        far, near = (reference, ours) if we_dial else (ours, reference)
        money = mine_money(far, 4)
        near.rpc("addnode", f"127.0.0.1:{ports[0 if we_dial else 1]}", "onetry", transport == "v2")
        wait_same_tip(*nodes)
        assert near.rpc("getblockcount") == MATURITY + 4
        assert {node.rpc("getpeerinfo")[0]["transport_protocol_type"] for node in nodes} == {transport}

        mine(near, 2)
        wait_same_tip(*nodes)
        txids = {send(near, spend([money[0]])), send(far, spend([money[1]]))}
        wait_pool(txids, *nodes)

        # In its compact form, filled from the pool; and once the other way.
        for miner, coin in ((near, money[2]), (far, money[3])):
            block = miner.rpc("getblock", mine(miner)[0], 1)
            assert len(block["tx"]) > 1
            wait_same_tip(*nodes)
            if miner is near:
                wait_pool({send(far, spend([coin]))}, *nodes)
        assert [node.rpc("getmempoolinfo")["size"] for node in nodes] == [0, 0]


def test_a_branch_of_the_reference_wins_and_loses(tmp_path: Path) -> None:
    port = free_port()
    reference = ReferenceNode(tmp_path / "reference", "-listen=1", f"-bind=127.0.0.1:{port}", TRUST)
    ours = Node(tmp_path / "ours", TRUST)
    with reference, ours:
        for node, other, script in ((reference, ours, "52"), (ours, reference, "53")):
            other.rpc("generatetodescriptor", 3, "raw(51)")
            won = node.rpc("generatetodescriptor", 5, f"raw({script})")[-1]
            ours.rpc("addnode", f"127.0.0.1:{port}", "onetry")
            wait_same_tip(reference, ours)
            assert ours.rpc("getbestblockhash") == won
            ours.rpc("disconnectnode", f"127.0.0.1:{port}")
            wait_for(lambda: not reference.rpc("getconnectioncount"))
