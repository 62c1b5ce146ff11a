"""A payment from keys to block against a real node: made, signed by two, sent, mined, looked up."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.address import SecretKey, encode_secret
from clarion.node.primitives.keys import pubkey_of_secret
from helpers.node import Node, RpcFailure

SECRETS = [SecretKey(bytes([number]) * 32, True) for number in (1, 2, 3)]
WIFS = [encode_secret(key, regtest_params()) for key in SECRETS]
KEYS = [pubkey_of_secret(key.secret).hex() for key in SECRETS]
OWN = f"wpkh({KEYS[0]})"


@pytest.fixture(scope="module", params=["0", "1"], ids=["in-process", "one-worker"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with one mature coinbase, its API inside and in a process of its own."""
    folder = tmp_path_factory.mktemp("raw")
    with Node(folder, f"-apiworkers={request.param}", "-rest", "-par=1", "-eventsprocess=0") as node:
        node.rpc("generatetodescriptor", 101, OWN)
        yield node


def coinbase_of(node: Node, height: int) -> dict[str, Any]:
    return {"txid": node.rpc("getblock", node.rpc("getblockhash", height))["tx"][0], "vout": 0}


@pytest.mark.parametrize("address_type", ["legacy", "p2sh-segwit", "bech32"])
def test_two_of_three(node: Node, address_type: str) -> None:
    node.rpc("generatetodescriptor", 1, OWN)
    shared = node.rpc("createmultisig", 2, KEYS, address_type)
    mature = coinbase_of(node, node.rpc("getblockcount") - 100)
    raw = node.rpc("createrawtransaction", [mature], {shared["address"]: 49.999})
    funding = node.rpc("signrawtransactionwithkey", raw, WIFS[:1])
    assert funding["complete"]
    txid = node.rpc("sendrawtransaction", funding["hex"])
    assert node.rpc("getrawtransaction", txid) == funding["hex"]
    assert node.rest(f"tx/{txid}.hex") == (200, funding["hex"].encode() + b"\n")

    # The output is in the mempool alone; its script comes from the client.
    output = node.rpc("getrawtransaction", txid, 1)["vout"][0]["scriptPubKey"]["hex"]
    described = {
        "txid": txid,
        "vout": 0,
        "scriptPubKey": output,
        "redeemScript": shared["redeemScript"],
        "amount": 49.999,
    }
    raw = node.rpc("createrawtransaction", [{"txid": txid, "vout": 0}], {shared["address"]: 49.99})
    halves = [node.rpc("signrawtransactionwithkey", raw, [wif], [described]) for wif in WIFS[1:]]
    assert [half["complete"] for half in halves] == [False, False]
    whole = node.rpc("combinerawtransaction", [half["hex"] for half in halves])
    spending = node.rpc("sendrawtransaction", whole)

    (block,) = node.rpc("generatetodescriptor", 1, OWN)
    assert node.rpc("getblock", block)["tx"][1:] == [txid, spending]
    answer = node.rpc("getrawtransaction", spending, 2, block)
    assert answer["hex"] == whole
    assert answer["fee"] == Decimal("0.009")
    with pytest.raises(RpcFailure, match="No such mempool transaction"):
        node.rpc("getrawtransaction", spending)
