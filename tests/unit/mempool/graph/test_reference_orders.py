"""Random graphs whose chunks, order and count of memory Bitcoin Core 31 has worked out.

`reference_orders.json` holds fee, weight and parents of each transaction, whose number is its order key.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from clarion.node.mempool.graph import Level
from helpers.graphs import graph_of, mining_order

CASES = json.loads(Path(__file__).with_name("reference_orders.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['transactions'])}")
def test_chunks_and_order(case: dict[str, Any]) -> None:
    rows = case["transactions"]
    links = [(parent, child) for child, row in enumerate(rows) for parent in row[2]]
    graph, _ = graph_of([(fee, weight) for fee, weight, _ in rows], links)
    assert mining_order(graph) == case["chunks"]
    assert graph.main_memory_usage() == case["usage"]
    assert graph.do_work(0)
    graph.sanity_check()


@pytest.mark.parametrize("case", CASES[:12], ids=lambda case: f"{len(case['transactions'])}")
def test_the_order_over_all_chunks_sorts_the_nodes(case: dict[str, Any]) -> None:
    rows = case["transactions"]
    links = [(parent, child) for child, row in enumerate(rows) for parent in row[2]]
    graph, nodes = graph_of([(fee, weight) for fee, weight, _ in rows], links)
    expected = [number for chunk in case["chunks"] for number in chunk]
    assert [node.number for node in sorted(nodes, key=graph.main_order_key)] == expected
    assert graph.compare_main_order(nodes[expected[0]], nodes[expected[1]]) == -1
    assert graph.compare_main_order(nodes[expected[-1]], nodes[expected[0]]) == 1
    assert graph.compare_main_order(nodes[0], nodes[0]) == 0
    assert graph.exists(nodes[0], Level.MAIN)
