"""ElectrumX, synced from a node: balances and histories by script, what the mempool adds, and a reorganisation."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clarion.node.params.networks import regtest_params
from clarion.node.primitives.address import SecretKey, encode_secret
from clarion.node.primitives.hashes import hash160
from clarion.node.primitives.keys import pubkey_of_secret
from helpers.electrumx import ElectrumX, electrumx_program
from helpers.node import Node
from helpers.waiting import wait_for

SECRET = SecretKey(bytes([7]) * 32, True)
WIF = encode_secret(SECRET, regtest_params())
PUBKEY = pubkey_of_secret(SECRET.secret)
SCRIPT = b"\x00\x14" + hash160(PUBKEY)
OTHER = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
OTHER_SCRIPT = bytes.fromhex("0014751e76e8199196d454941c45d1b3a323f1433bd6")
COIN = 10**8
MATURE = 101

pytestmark = pytest.mark.slow


def script_hash(script: bytes) -> str:
    """Return what the Electrum protocol calls a script by."""
    return sha256(script).digest()[::-1].hex()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with the indexes that ElectrumX demands, and one mature coinbase of our key."""
    if electrumx_program() is None:
        pytest.skip("ElectrumX is not installed (pip install 'e-x[leveldb]')")
    options = ("-par=1", "-eventsprocess=0", "-apiworkers=1", "-txindex=1", "-txospenderindex=1")
    with Node(tmp_path_factory.mktemp("electrumx"), *options) as node:
        node.rpc("generatetodescriptor", MATURE, f"wpkh({PUBKEY.hex()})")
        yield node


@pytest.fixture(scope="module")
def server(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ElectrumX]:
    """Return an ElectrumX that has indexed the node's chain."""
    program = electrumx_program()
    assert isinstance(program, Path)
    with ElectrumX(program, node, tmp_path_factory.mktemp("server") / "db") as server:
        yield server


def balance(server: ElectrumX, script: bytes) -> tuple[int, int]:
    """Return a script's confirmed and unconfirmed satoshis."""
    found = server.call("blockchain.scripthash.get_balance", script_hash(script))
    return found["confirmed"], found["unconfirmed"]


def history(server: ElectrumX, script: bytes) -> list[tuple[int, str]]:
    """Return (height, txid) of a script's transactions; height 0 is the mempool."""
    found = server.call("blockchain.scripthash.get_history", script_hash(script))
    return [(each["height"], each["tx_hash"]) for each in found]


def coinbase_at(node: Node, height: int) -> str:
    block: dict[str, Any] = node.rpc("getblock", node.rpc("getblockhash", height))
    return str(block["tx"][0])


def test_a_synced_server_knows_balance_and_history(node: Node, server: ElectrumX) -> None:
    assert balance(server, SCRIPT) == (MATURE * 50 * COIN, 0)
    assert history(server, SCRIPT) == [(height, coinbase_at(node, height)) for height in range(1, MATURE + 1)]
    header = server.call("blockchain.headers.subscribe")
    assert header == {"height": MATURE, "hex": node.rpc("getblockheader", node.rpc("getbestblockhash"), False)}


def test_a_payment_is_broadcast_mined_and_taken_back(node: Node, server: ElectrumX) -> None:
    raw = node.rpc("createrawtransaction", [{"txid": coinbase_at(node, 1), "vout": 0}], {OTHER: 49.999})
    signed = node.rpc("signrawtransactionwithkey", raw, [WIF])
    txid = server.call("blockchain.transaction.broadcast", signed["hex"])
    assert node.rpc("getrawmempool") == [txid]
    wait_for(lambda: history(server, OTHER_SCRIPT) == [(0, txid)])
    assert balance(server, OTHER_SCRIPT) == (0, 4_999_900_000)

    (block,) = node.rpc("generatetodescriptor", 1, "raw(51)")
    wait_for(lambda: history(server, OTHER_SCRIPT) == [(MATURE + 1, txid)])
    assert balance(server, OTHER_SCRIPT) == (4_999_900_000, 0)
    assert balance(server, SCRIPT) == ((MATURE - 1) * 50 * COIN, 0)
    assert server.call("blockchain.transaction.get", txid) == signed["hex"]

    node.rpc("invalidateblock", block)
    node.rpc("generateblock", "raw(51)", [])
    node.rpc("generateblock", "raw(51)", [])
    wait_for(lambda: history(server, OTHER_SCRIPT) == [(0, txid)])
    assert balance(server, SCRIPT) == (MATURE * 50 * COIN, -50 * COIN)
