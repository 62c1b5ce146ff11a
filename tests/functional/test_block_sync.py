"""Nodes that get their blocks from each other."""

from pathlib import Path

from helpers.node import Node, free_port
from helpers.waiting import wait_for


def listening(folder: Path, *options: str) -> tuple[Node, str]:
    port = free_port()
    return Node(folder, "-listen=1", f"-bind=127.0.0.1:{port}", *options), f"127.0.0.1:{port}"


def same_tip(*nodes: Node) -> bool:
    return len({node.rpc("getbestblockhash") for node in nodes}) == 1


def mine(node: Node, count: int, script: str = "51") -> list[str]:
    hashes: list[str] = node.rpc("generatetodescriptor", count, f"raw({script})")
    return hashes


def test_from_zero_then_block_by_block(tmp_path: Path) -> None:
    first, address = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b")
    with first, second:
        mine(first, 150)
        second.rpc("addnode", address, "onetry")
        wait_for(lambda: same_tip(first, second))
        mine(first, 1)
        wait_for(lambda: same_tip(first, second))
        # And the other way: what the younger node finds.
        mine(second, 2)
        wait_for(lambda: same_tip(first, second))
        assert first.rpc("getblockcount") == 153
        (peer,) = second.rpc("getpeerinfo")
        # Whoever has a block from us does not announce it back.
        assert (peer["synced_headers"], peer["inflight"]) == (151, [])


def test_a_partition_heals_into_a_reorganisation(tmp_path: Path) -> None:
    first, address = listening(tmp_path / "a")
    second, _ = listening(tmp_path / "b")
    with first, second:
        second.rpc("addnode", address, "onetry")
        mine(first, 10)
        wait_for(lambda: same_tip(first, second))
        second.rpc("disconnectnode", address)
        wait_for(lambda: first.rpc("getconnectioncount") == 0)
        # Other scripts: in the same second both would find the same blocks.
        lost, won = mine(first, 3, "52"), mine(second, 5, "53")
        assert not same_tip(first, second)
        second.rpc("addnode", address, "onetry")
        wait_for(lambda: same_tip(first, second))
        assert first.rpc("getbestblockhash") == won[-1]
        statuses = {tip["hash"]: tip["status"] for tip in first.rpc("getchaintips")}
        assert statuses == {won[-1]: "active", lost[-1]: "valid-fork"}


def test_a_chain_of_five_nodes(tmp_path: Path) -> None:
    nodes, addresses = zip(*(listening(tmp_path / str(number)) for number in range(5)), strict=True)
    try:
        for node in nodes:
            node.start()
        for node, address in zip(nodes[1:], addresses, strict=False):
            node.rpc("addnode", address, "onetry")
        mine(nodes[0], 5)
        wait_for(lambda: same_tip(*nodes))
        mine(nodes[-1], 1)
        wait_for(lambda: same_tip(*nodes))
        assert nodes[2].rpc("getblockcount") == 6
    finally:
        for node in nodes:
            node.stop()
