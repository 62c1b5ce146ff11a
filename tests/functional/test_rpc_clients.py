"""Clients that others wrote, against a real node: what they read of an answer must be there."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from helpers.node import Node

ALL_IN_ONE = ("-par=1", "-eventsprocess=0", "-apiworkers=0")
BLOCKS = 3
# The clients' own code, not ours: escapes that newer Pythons warn of, a connection that is closed by collection.
THEIR_WARNINGS = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Return a node with three blocks."""
    with Node(tmp_path_factory.mktemp("clients"), *ALL_IN_ONE) as node:
        node.rpc("generatetodescriptor", BLOCKS, "raw(51)")
        yield node


def url_of(node: Node) -> str:
    """Return the node's address with the cookie in it."""
    return f"http://{node.cookie()}@127.0.0.1:{node.rpc_port}"


@THEIR_WARNINGS
def test_python_bitcoinrpc(node: Node) -> None:
    authproxy = pytest.importorskip("bitcoinrpc.authproxy", reason="python-bitcoinrpc is not installed")
    client = authproxy.AuthServiceProxy(url_of(node))
    best = client.getbestblockhash()
    block = client.getblock(best, 2)
    # Amounts with a fraction must come as such: as floats they would lose satoshis.
    assert block["tx"][0]["vout"][0]["value"] == Decimal("50.00000000")
    assert isinstance(block["tx"][0]["vout"][0]["value"], Decimal)
    # Not its `batch_`: that one speaks JSON-RPC 2.0 and yet wants an "error" in every answer, which no server sends.
    assert client.getblockhash(BLOCKS) == best
    with pytest.raises(authproxy.JSONRPCException) as caught:
        client.getblockhash(BLOCKS + 1)
    assert (caught.value.code, caught.value.message) == (-8, "Block height out of range")


@THEIR_WARNINGS
def test_python_bitcoinlib(node: Node) -> None:
    rpc = pytest.importorskip("bitcoin.rpc", reason="python-bitcoinlib is not installed")
    bitcoin = pytest.importorskip("bitcoin")
    bitcoin.SelectParams("regtest")
    proxy = rpc.Proxy(service_url=url_of(node))
    best = proxy.getbestblockhash()
    block = proxy.getblock(best)
    assert (block.GetHash(), proxy.getblockcount()) == (best, BLOCKS)
    assert proxy.getblockheader(best).hashPrevBlock == proxy.getblockhash(BLOCKS - 1)
    assert proxy.gettxout(bitcoin.core.COutPoint(block.vtx[0].GetTxid(), 0))["txout"].nValue == 50 * 10**8
    # Each code has a class of its own there.
    with pytest.raises(IndexError):
        proxy.getblock(bytes(32))
    proxy.close()


NODE_SCRIPT = """
const Client = require("bitcoin-core");
(async () => {
  const [username, password] = process.argv[1].split(":");
  const client = new Client({ host: `http://127.0.0.1:${process.argv[2]}`, username, password });
  const best = await client.getBestBlockHash();
  const [count, block] = await client.command([
    { method: "getblockcount", parameters: [] }, { method: "getblock", parameters: [best, 1] },
  ]);
  let code = 0;
  try { await client.getBlockHash(99); } catch (error) { code = error.code; }
  console.log(JSON.stringify({ best, count, height: block.height, code }));
})();
"""


def test_npm_bitcoin_core(node: Node) -> None:
    program = shutil.which("node")
    # `make install` puts the package beside Python's.
    folders = os.pathsep.join([str(Path(sys.prefix, "npm", "node_modules")), os.environ.get("NODE_PATH", "")])
    env = {**os.environ, "NODE_PATH": folders}
    find = 'require("bitcoin-core")'
    if program is None or subprocess.run([program, "-e", find], capture_output=True, env=env).returncode:
        pytest.skip("node.js with the package bitcoin-core is not installed (NODE_PATH names its folder)")
    command = [program, "-e", NODE_SCRIPT, node.cookie(), str(node.rpc_port)]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60, env=env).stdout)
    assert answer == {"best": node.rpc("getbestblockhash"), "count": BLOCKS, "height": BLOCKS, "code": -8}
