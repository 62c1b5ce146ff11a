"""Basic filters and their headers, by the test vectors of BIP158 and of the reference."""

import json
from typing import Any

import pytest

from clarion.node.primitives.block import Block
from clarion.node.primitives.block_filter import basic_filter, filter_header
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import hash_from_hex, hash_to_hex
from helpers.shared import have_shared, shared_path


def cases() -> list[Any]:
    found = []
    for name in ("core/blockfilters.json", "bips/bip-0158-testnet-19.json"):
        if have_shared("vectors", name):
            rows = json.loads(shared_path("vectors", name).read_text())[1:]
            found += [pytest.param(row, id=f"{name.split('/')[0]}-{row[0]}") for row in rows]
    return found


@pytest.mark.parametrize("row", cases())
def test_filter_and_header(row: list[Any]) -> None:
    _, block_hash, raw, scripts, previous, encoded, header = row[:7]
    block = Block.parse(bytes.fromhex(raw))
    found = basic_filter(block, [[Coin(0, bytes.fromhex(script), 0) for script in scripts]])
    assert (hash_to_hex(block.hash), found.hex()) == (block_hash, encoded)
    assert hash_to_hex(filter_header(sha256d(found), hash_from_hex(previous))) == header
