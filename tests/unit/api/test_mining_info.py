"""getmininginfo and getnetworkhashps."""

from dataclasses import replace
from decimal import Decimal

import pytest

from clarion.api.rpc.mining_info import getmininginfo, network_hashes_per_s
from clarion.node.chain.block_index import BlockIndex
from clarion.node.params.chain_params import select_params
from helpers.api_stack import ApiStack
from helpers.headers import grow, header_on

TARGET = "7fffff" + "00" * 29


def test_mining_info(own_stack: ApiStack) -> None:
    info = own_stack.result("getmininginfo")
    assert info == {
        "blocks": 0,
        "bits": "207fffff",
        "difficulty": Decimal("4.656542373906925e-10"),
        "target": TARGET,
        "networkhashps": 0,
        "pooledtx": 0,
        "blockmintxfee": Decimal("0.00000001"),
        "chain": "regtest",
        "next": {
            "height": 1,
            "bits": "207fffff",
            "difficulty": Decimal("4.656542373906925e-10"),
            "target": TARGET,
        },
        "warnings": [],
    }


def test_the_last_assembled_block_is_told(own_stack: ApiStack) -> None:
    own_stack.result("generatetodescriptor", 1, "raw(51)")
    info = own_stack.result("getmininginfo")
    assert list(info)[:3] == ["blocks", "currentblockweight", "currentblocktx"]
    assert (info["currentblockweight"], info["currentblocktx"]) == (8000, 0)


def test_signet_challenge(stack: ApiStack) -> None:
    info = getmininginfo(replace(stack.context, params=select_params("signet")))
    assert info["signet_challenge"].startswith("512103ad5e")
    assert info["chain"] == "signet"


def test_speed_of_the_network() -> None:
    tip = grow(BlockIndex(), None, 11)[-1]  # a block in ten minutes, two hashes each
    assert network_hashes_per_s(tip, 120, 144) == pytest.approx(2 / 600)
    assert network_hashes_per_s(tip, 1, 144) == pytest.approx(2 / 600)
    assert network_hashes_per_s(tip, -1, 8) == pytest.approx(2 / 600)
    genesis = tip.ancestor(0)
    assert genesis is not None
    assert network_hashes_per_s(genesis, 120, 144) == 0


def test_times_that_go_backward_count_from_the_earliest_to_the_latest() -> None:
    index = BlockIndex()
    tip = grow(index, None, 3)[-1]
    earlier = index.add(header_on(tip.hash, tip.time - 300))
    assert network_hashes_per_s(earlier, 2, 144) == pytest.approx(4 / 600)
    same = index.add(header_on(tip.hash, tip.time))
    assert network_hashes_per_s(same, 1, 144) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([0], -8, "Invalid nblocks. Must be a positive number or -1."),
        ([-2], -8, "Invalid nblocks. Must be a positive number or -1."),
        ([120, 4], -8, "Block does not exist at specified height"),
        ([120, -2], -8, "Block does not exist at specified height"),
        ([2**31], -1, "JSON integer out of range"),
    ],
)
def test_blocks_that_there_are_not(stack: ApiStack, arguments: list[int], code: int, message: str) -> None:
    assert stack.error("getnetworkhashps", *arguments) == (code, message)


def test_speed_as_of_a_block(stack: ApiStack) -> None:
    assert stack.result("getnetworkhashps", 120, 0) == 0
    assert stack.result("getnetworkhashps", -1, -1) == stack.result("getnetworkhashps")
