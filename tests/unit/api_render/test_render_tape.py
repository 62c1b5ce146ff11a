"""Rendered blocks and headers against the reference's recorded answers, byte for byte."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from clarion.api.render.block import block_bytes, block_contents, header_json
from clarion.api.render.transaction import transaction_json
from clarion.node.params.networks import regtest_params
from clarion.node.primitives.ids import hash_from_hex
from clarion.node.primitives.transaction import decode_hex_transaction
from helpers.tape import BlockTree, read_tape, rest_steps, rpc_steps

NETWORK = regtest_params()
RecordCount = Callable[[str, int, int], None]


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    from helpers.shared import shared_path

    return read_tape(shared_path("tapes", "regtest-a.jsonl.gz"))


@pytest.fixture(scope="module")
def tree(steps: list[dict[str, Any]]) -> BlockTree:
    return BlockTree(steps)


def rendered_block(tree: BlockTree, answer: Mapping[str, Any], verbosity: int) -> bytes:
    block_hash = hash_from_hex(answer["hash"])
    undo = tree.undo(block_hash) if verbosity > 1 and answer["height"] > 0 else None
    contents = orjson.dumps(block_contents(tree.blocks[block_hash], NETWORK, verbosity, undo))
    return block_bytes(tree.place(answer), contents)


def as_rpc_body(result: bytes) -> str:
    return f'{{"result":{result.decode()},"error":null,"id":"tape"}}\n'


@pytest.mark.parametrize("verbosity", [1, 2, 3])
def test_getblock(steps: list[dict[str, Any]], tree: BlockTree, verbosity: int, record_count: RecordCount) -> None:
    bodies = [body for params, body in rpc_steps(steps, "getblock") if (params[1:] or [1])[0] == verbosity]
    passed = sum(as_rpc_body(rendered_block(tree, json.loads(body)["result"], verbosity)) == body for body in bodies)
    record_count(f"getblock {verbosity}, rendered", passed, len(bodies))
    assert passed == len(bodies) >= 37


def test_getblock_hex(steps: list[dict[str, Any]], tree: BlockTree) -> None:
    answers = [
        (params[0], json.loads(body)["result"]) for params, body in rpc_steps(steps, "getblock") if params[1:] == [0]
    ]
    assert len(answers) >= 37
    for block_hash, raw in answers:
        assert tree.blocks[hash_from_hex(block_hash)].raw.hex() == raw


@pytest.mark.parametrize(("start", "verbosity"), [("/rest/block/notxdetails/", 1), ("/rest/block/", 3)])
def test_rest_block(steps: list[dict[str, Any]], tree: BlockTree, start: str, verbosity: int) -> None:
    bodies = [body for path, body in rest_steps(steps, start, ".json") if verbosity == 1 or "notxdetails" not in path]
    assert len(bodies) >= 37
    for body in bodies:
        assert rendered_block(tree, json.loads(body), verbosity).decode() + "\n" == body


def test_getblockheader(steps: list[dict[str, Any]], tree: BlockTree) -> None:
    bodies = [body for params, body in rpc_steps(steps, "getblockheader") if params[1:] != [False]]
    assert len(bodies) >= 57
    for body in bodies:
        place = tree.place(json.loads(body)["result"])
        assert as_rpc_body(orjson.dumps(header_json(place))) == body


def test_decoderawtransaction(steps: list[dict[str, Any]]) -> None:
    calls = list(rpc_steps(steps, "decoderawtransaction"))
    assert calls
    for params, body in calls:
        tx = decode_hex_transaction(bytes.fromhex(params[0]))
        assert as_rpc_body(orjson.dumps(transaction_json(tx, NETWORK, include_hex=False))) == body
