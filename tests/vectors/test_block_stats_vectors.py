"""getblockstats against the reference's answers, over the blocks that come with them."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from clarion.node.chain.block_statistics import STORE_NAME
from clarion.node.chain.indexes.recent import RecentDeltas
from clarion.node.chain.statistics import StatisticsKeeper
from helpers.api_stack import ApiStack
from helpers.chain_node import ChainNode
from helpers.index_runs import contents, wait_until
from helpers.shared import shared_path


@pytest.fixture(scope="module")
def recorded() -> Any:
    return json.loads(shared_path("vectors", "core", "rpc_getblockstats.json").read_text(), parse_float=Decimal)


@pytest.fixture(scope="module", params=["counted", "stored"])
def stack(
    recorded: Any, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ApiStack]:
    """Return an API that counts for itself, or one that may not because the node has stored every block's statistics."""
    folder: Path = tmp_path_factory.mktemp("stats")
    stack = ApiStack(folder).ready()
    stack.result("setmocktime", recorded["mocktime"])
    for block in recorded["blocks"]:
        stack.result("submitblock", block)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "stored":
            store_all(stack.node, patch)
            patch.setattr("clarion.api.rpc.block_stats._count", None)
        yield stack
    stack.close()


def store_all(node: ChainNode, patch: pytest.MonkeyPatch) -> None:
    """Have the statistics of the whole chain stored."""
    patch.setattr("clarion.node.chain.statistics.REST_S", 0.01)
    patch.setattr("clarion.node.chain.statistics.PAUSE_S", 0.01)
    keeper = StatisticsKeeper(node.database.open_index(STORE_NAME, node.params))
    keeper.start(node.manager, node.stores, RecentDeltas())
    count = node.manager.tip.height + 1
    wait_until(lambda: len(contents(node, STORE_NAME)) == count, lambda: len(contents(node, STORE_NAME)))
    keeper.stop()


def test_whole_answers(recorded: Any, stack: ApiStack) -> None:
    assert len(recorded["stats"]) == 3
    for want in recorded["stats"]:
        by_height = stack.result("getblockstats", want["height"])
        assert by_height == want
        assert stack.result("getblockstats", want["blockhash"]) == by_height


def test_each_value_alone(recorded: Any, stack: ApiStack) -> None:
    want = recorded["stats"][-1]
    for name, value in want.items():
        assert stack.result("getblockstats", want["height"], [name]) == {name: value}


def test_proof_of_each_transaction(recorded: Any, stack: ApiStack) -> None:
    block_hash = recorded["stats"][-1]["blockhash"]
    txids = stack.result("getblock", block_hash)["tx"]
    assert len(txids) > 2
    for txid in txids:
        proof = stack.result("gettxoutproof", [txid], block_hash)
        assert stack.result("verifytxoutproof", proof) == [txid]
