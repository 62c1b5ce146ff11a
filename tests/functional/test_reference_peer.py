"""Bitcoin Core as a peer: blocks and transactions pass both ways, on both transports, whoever dials."""

from pathlib import Path
from typing import Any

import pytest

from helpers.anyone import MATURITY, mine, mine_money, send, spend
from helpers.node import Node, free_port
from helpers.reference_node import ReferenceNode
from helpers.waiting import wait_for

TRUST = "-whitelist=noban,in,out@127.0.0.1"
"""Transactions pass without the random delay of seconds."""

ALIKE = (
    "network", "services", "servicesnames", "relaytxes", "last_inv_sequence", "inv_to_send", "last_transaction", "last_block",
    "timeoffset", "inbound", "bip152_hb_to", "bip152_hb_from", "presynced_headers", "inflight",
    "addr_relay_enabled", "addr_processed", "addr_rate_limited", "permissions", "minfeefilter", "connection_type",
    "transport_protocol_type",
)  # fmt: skip
"""What getpeerinfo tells of a peer that does not depend on who the peer is."""
OF_THE_NODE = (
    "localservices", "localservicesnames", "localrelay", "timeoffset", "networkactive", "connections", "networks",
    "relayfee", "incrementalfee", "localaddresses",
)  # fmt: skip


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


def test_both_show_each_other_alike(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    reference, ours = (
        kind(tmp_path / kind.__name__, "-listen=1", f"-bind=127.0.0.1:{port}", TRUST)
        for kind, port in zip((ReferenceNode, Node), ports, strict=True)
    )
    with reference, ours:
        shown: dict[str, list[dict[str, Any]]] = {"outbound": [], "inbound": []}
        for dials, listens, port in ((reference, ours, ports[1]), (ours, reference, ports[0])):
            dials.rpc("addnode", f"127.0.0.1:{port}", "onetry")
            wait_for(lambda: all("minping" in peer for node in (reference, ours) for peer in node.rpc("getpeerinfo")))
            wait_for(lambda: all(node.rpc("getconnectioncount") == 1 for node in (reference, ours)))
            shown["outbound"] += dials.rpc("getpeerinfo")
            shown["inbound"] += listens.rpc("getpeerinfo")
            dials.rpc("disconnectnode", f"127.0.0.1:{port}")
            wait_for(lambda: not any(node.rpc("getconnectioncount") for node in (reference, ours)))
        for its, our in ((shown["outbound"]), (shown["inbound"])[::-1]):
            assert list(its) == list(our)
            assert {name: its[name] for name in ALIKE} == {name: our[name] for name in ALIKE}
        its, our = (node.rpc("getnetworkinfo") for node in (reference, ours))
        assert list(its) == list(our)
        assert {name: its[name] for name in OF_THE_NODE} == {name: our[name] for name in OF_THE_NODE}


def test_a_signet_of_ones_own(tmp_path: Path) -> None:
    port, challenge = free_port(), "-signetchallenge=51"
    reference = ReferenceNode(
        tmp_path / "reference", challenge, "-listen=1", f"-bind=127.0.0.1:{port}", TRUST, chain="signet"
    )
    ours = Node(tmp_path / "ours", challenge, TRUST, chain="signet")
    with reference, ours:
        # Its target takes some million tries a block.
        while reference.rpc("getblockcount") < 2:
            reference.rpc("generatetodescriptor", 1, "raw(51)", 100_000_000)
        ours.rpc("addnode", f"127.0.0.1:{port}", "onetry")
        wait_same_tip(reference, ours)
        reference.rpc("generatetodescriptor", 1, "raw(51)", 100_000_000)
        wait_same_tip(reference, ours)
        assert ours.rpc("getblockcount") == 3
