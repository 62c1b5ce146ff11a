"""Nodes in network namespaces of their own, with links that are slow and lose packets."""

from contextlib import ExitStack
from pathlib import Path

from helpers.anyone import MATURITY, mine, mine_money, send, spend
from helpers.lossy_network import LossyNetwork, lossy_network
from helpers.node import Node
from helpers.waiting import wait_for

DELAY_S = 0.04
LOSS = 0.03
PATIENCE_S = 120
# One process a node, and transactions without the random delay of seconds.
OPTIONS = ("-par=1", "-apiworkers=0", "-eventsprocess=0")


def started(network: LossyNetwork, folder: Path, count: int, stack: ExitStack) -> list[Node]:
    trust = f"-whitelist=noban@{network.prefix}0/24"
    nodes = [network.node(number, folder / str(number), trust, *OPTIONS) for number in range(count)]
    for node in nodes:
        node.spawn()
        stack.callback(node.kill)
    for node in nodes:
        node.wait_ready()
    return nodes


def wait_same(nodes: list[Node]) -> None:
    """Wait until all have the same tip and the same mempool."""
    wait_for(lambda: len({node.rpc("getbestblockhash") for node in nodes}) == 1, PATIENCE_S)
    wait_for(lambda: len({tuple(sorted(node.rpc("getrawmempool"))) for node in nodes}) == 1, PATIENCE_S)


def test_two_nodes_sync_and_relay(tmp_path: Path) -> None:
    with lossy_network(2, delay_s=DELAY_S, loss=LOSS) as network, ExitStack() as stack:
        first, second = nodes = started(network, tmp_path, 2, stack)
        money = mine_money(first, 3)
        second.rpc("addnode", f"{network.address(0)}:18444", "onetry")
        wait_same(nodes)
        txids = {send(first, spend([money[0]])), send(second, spend([money[1]]))}
        wait_for(lambda: all(set(node.rpc("getrawmempool")) == txids for node in nodes), PATIENCE_S)
        mine(second)
        wait_same(nodes)
        assert (first.rpc("getblockcount"), first.rpc("getmempoolinfo")["size"]) == (MATURITY + 4, 0)
        assert first.rpc("getpeerinfo")[0]["minping"] >= 2 * DELAY_S
        assert network.lost > 0


def test_five_nodes_and_a_partition_that_heals(tmp_path: Path) -> None:
    with lossy_network(5, delay_s=DELAY_S, loss=LOSS) as network, ExitStack() as stack:
        nodes = started(network, tmp_path, 5, stack)
        # A ring: each half of a cut one still hangs together.
        for number, node in enumerate(nodes):
            node.rpc("addnode", f"{network.address((number + 1) % 5)}:18444", "onetry")
        money = mine_money(nodes[0], 4)
        wait_same(nodes)
        everywhere = send(nodes[2], spend([money[0]]))
        wait_for(lambda: all(node.rpc("getrawmempool") == [everywhere] for node in nodes), PATIENCE_S)

        network.part([0, 1], [2, 3, 4])
        lost = mine(nodes[0])[-1]
        wait_for(lambda: nodes[1].rpc("getbestblockhash") == lost, PATIENCE_S)
        alone = [send(nodes[1], spend([money[1]])), send(nodes[4], spend([money[2]]))]
        won = [nodes[3].rpc("generateblock", "raw(51)", [])["hash"] for _ in range(2)][-1]
        assert nodes[0].rpc("getrawmempool") in ([], [alone[0]])

        network.part()
        wait_same(nodes)
        wait_for(lambda: all(set(node.rpc("getrawmempool")) == {everywhere, *alone} for node in nodes), PATIENCE_S)
        assert {node.rpc("getbestblockhash") for node in nodes} == {won}
        statuses = {tip["hash"]: tip["status"] for tip in nodes[0].rpc("getchaintips")}
        assert statuses == {won: "active", lost: "valid-fork"}
