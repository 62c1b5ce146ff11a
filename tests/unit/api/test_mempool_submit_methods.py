"""sendrawtransaction, testmempoolaccept and submitpackage."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from clarion.api.rpc import mempool_submit, registry
from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.accepting import ANYONE, WITNESS, Accepting, build_chain, out
from helpers.chain_builder import Built
from helpers.chain_node import OPEN, ChainNode

assert mempool_submit


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChainNode, Sequence[Built]]]:
    """Return a chain that no test changes."""
    node, blocks = build_chain(tmp_path_factory.mktemp("submitting"))
    OPEN.discard(node)
    yield node, blocks
    node.close()


@pytest.fixture
def world(chain: tuple[ChainNode, Sequence[Built]]) -> Accepting:
    """Return an empty pool on the chain."""
    return Accepting(*chain)


def call(world: Accepting, name: str, *params: Any) -> Any:
    """Return the answer as clients decode it."""
    method = registry.find(name)
    assert method is not None
    relay = SimpleNamespace(announce=lambda txids: None)
    network = SimpleNamespace(relay=relay, soon=lambda function, *args: function(*args))
    context = SimpleNamespace(mempool=SimpleNamespace(acceptor=world.acceptor), network=network)
    return orjson.loads(orjson.dumps(method.handler(context, *registry.bind(method, list(params)))))


def error(world: Accepting, name: str, *params: Any) -> tuple[int, str]:
    """Return code and message of the error answer."""
    with pytest.raises(RpcError) as caught:
        call(world, name, *params)
    return int(caught.value.code), caught.value.message


def lost(tx: Transaction) -> Transaction:
    """Return a transaction whose input nobody knows."""
    return Transaction(2, [TxIn(make_outpoint(bytes(31) + b"\1", 0), witness=WITNESS)], tx.outputs)


def test_sendrawtransaction(world: Accepting) -> None:
    tx = world.spend(world.coin())
    assert call(world, "sendrawtransaction", tx.raw.hex()) == hash_to_hex(tx.txid)
    assert world.pool.unbroadcast == {tx.txid}
    assert call(world, "sendrawtransaction", tx.raw.hex()) == hash_to_hex(tx.txid)


def test_sendrawtransaction_errors(world: Accepting) -> None:
    send = "sendrawtransaction"
    assert error(world, send, "00") == (-22, "TX decode failed. Make sure the tx has at least one input.")
    assert error(world, send, lost(world.spend(world.coin())).raw.hex()) == (-25, "bad-txns-inputs-missingorspent")
    assert error(world, send, world.spend(world.coin(), version=4).raw.hex()) == (-26, "version")
    confirmed = world.blocks[1].txs[0].raw.hex()
    assert error(world, send, confirmed) == (-27, "Transaction outputs already in utxo set")


def test_maxfeerate(world: Accepting) -> None:
    tx = world.spend(world.coin(), fee=10_000_000)
    dear = (-25, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)")
    assert error(world, "sendrawtransaction", tx.raw.hex()) == dear
    assert error(world, "sendrawtransaction", tx.raw.hex(), "0.99999999") == dear
    assert error(world, "sendrawtransaction", tx.raw.hex(), 1) == (
        -8,
        "Fee rates larger than or equal to 1BTC/kvB are not accepted",
    )
    assert error(world, "sendrawtransaction", tx.raw.hex(), -1) == (-3, "Amount out of range")
    assert call(world, "sendrawtransaction", tx.raw.hex(), 0) == hash_to_hex(tx.txid)


@pytest.mark.parametrize("script", [b"\x6a\x01\x01", b"\x4c"], ids=["op_return", "broken"])
def test_maxburnamount(world: Accepting, script: bytes) -> None:
    tx = world.spend(world.coin(), outputs=[TxOut(1_000, script)])
    burnt = (-25, "Unspendable output exceeds maximum configured by user (maxburnamount)")
    assert error(world, "sendrawtransaction", tx.raw.hex(), 0, 0.00000999) == burnt
    assert error(world, "submitpackage", [tx.raw.hex()], 0) == burnt
    assert world.scripts.runs == 0
    code, _ = error(world, "sendrawtransaction", world.spend(world.coin(), version=4).raw.hex(), 0, 0.00001)
    assert code == -26


def test_testmempoolaccept_of_one(world: Accepting) -> None:
    tx = world.spend(world.coin(), fee=1_000)
    (answer,) = call(world, "testmempoolaccept", [tx.raw.hex()])
    assert answer == {
        "txid": hash_to_hex(tx.txid),
        "wtxid": hash_to_hex(tx.wtxid),
        "allowed": True,
        "vsize": tx.vsize,
        "fees": {
            "base": 0.00001,
            "effective-feerate": 1_000 * 1000 // tx.vsize / 10**8,
            "effective-includes": [hash_to_hex(tx.wtxid)],
        },
    }
    assert not world.pool.entries


def test_testmempoolaccept_says_why_not(world: Accepting) -> None:
    (answer,) = call(world, "testmempoolaccept", [world.spend(world.coin(), fee=-1).raw.hex()])
    assert answer["allowed"] is False
    assert answer["reject-reason"] == "bad-txns-in-belowout"
    assert answer["reject-details"] == "bad-txns-in-belowout, value in (50.00) < value out (50.00000001)"
    (answer,) = call(world, "testmempoolaccept", [lost(world.spend(world.coin())).raw.hex()])
    assert (answer["reject-reason"], "reject-details" in answer) == ("missing-inputs", False)


def test_testmempoolaccept_of_several(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=10_000_000)
    child = world.spend(out(parent), fee=1_000)
    package = [parent.raw.hex(), child.raw.hex()]
    first, second = call(world, "testmempoolaccept", package)
    assert (first["allowed"], first["reject-reason"], "allowed" in second) == (False, "max-fee-exceeded", False)
    assert [each["allowed"] for each in call(world, "testmempoolaccept", package, 0)] == [True, True]
    for each in call(world, "testmempoolaccept", package[::-1]):
        assert each["package-error"] == "package-not-sorted"
        assert "allowed" not in each


@pytest.mark.parametrize("name", ["testmempoolaccept", "submitpackage"])
def test_lists_of_raw_transactions(world: Accepting, name: str) -> None:
    count = (-8, "Array must contain between 1 and 25 transactions.")
    assert error(world, name, []) == count
    assert error(world, name, ["00"] * 26) == count
    assert error(world, name, ["00"]) == (-22, "TX decode failed: 00 Make sure the tx has at least one input.")
    assert error(world, name, [1]) == (-3, "JSON value of type number is not of expected type string")


def test_submitpackage(world: Accepting) -> None:
    old = world.put(world.spend(world.coin(), fee=1_000))
    parent = world.spend(world.coin(), fee=0, sequence=5)
    child = world.spend(out(parent), fee=20_000)
    answer = call(world, "submitpackage", [parent.raw.hex(), child.raw.hex()])
    assert answer["package_msg"] == "success"
    assert answer["replaced-transactions"] == [hash_to_hex(old.txid)]
    told = answer["tx-results"][hash_to_hex(parent.wtxid)]
    assert (told["txid"], told["vsize"], told["fees"]["base"]) == (hash_to_hex(parent.txid), parent.vsize, 0)
    assert told["fees"]["effective-includes"] == [hash_to_hex(parent.wtxid), hash_to_hex(child.wtxid)]
    again = call(world, "submitpackage", [parent.raw.hex(), child.raw.hex()])
    assert again["tx-results"][hash_to_hex(child.wtxid)]["fees"] == {"base": 0.0002}


def test_submitpackage_that_fails(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0)
    child = world.spend(out(parent), fee=10_000, witness=(b"\x52",))
    answer = call(world, "submitpackage", [parent.raw.hex(), child.raw.hex()])
    assert answer["package_msg"] == "transaction failed"
    assert answer["tx-results"][hash_to_hex(parent.wtxid)]["error"] == "min relay fee not met, 0 < 10"
    assert answer["tx-results"][hash_to_hex(child.wtxid)]["error"].startswith(
        "mempool-script-verify-flag-failed (Witness program hash mismatch), input 0 of "
    )
    assert answer["replaced-transactions"] == []


def test_submitpackage_of_another_witness(world: Accepting) -> None:
    tx = world.put(world.spend(world.coin()))
    twin = Transaction(2, [TxIn(world.coin(), sequence=0xFFFFFFFD, witness=(b"\x01", *WITNESS))], tx.outputs)
    answer = call(world, "submitpackage", [twin.raw.hex()])
    assert answer["tx-results"][hash_to_hex(twin.wtxid)] == {
        "txid": hash_to_hex(tx.txid),
        "other-wtxid": hash_to_hex(tx.wtxid),
    }


def test_submitpackage_wants_a_child_with_its_parents(world: Accepting) -> None:
    first, second = world.spend(world.coin(0)), world.spend(world.coin(1))
    topology = "package topology disallowed. not child-with-parents or parents depend on each other."
    assert error(world, "submitpackage", [first.raw.hex(), second.raw.hex()]) == (-25, topology)
    third = world.spend(out(first), outputs=[TxOut(1_000, ANYONE)])
    child = world.spend(out(third))
    assert error(world, "submitpackage", [tx.raw.hex() for tx in (first, third, child)]) == (-25, topology)
    unsorted = call(world, "submitpackage", [second.raw.hex()])
    assert unsorted["package_msg"] == "success"


def test_submitpackage_with_a_limit(world: Accepting) -> None:
    parent = world.spend(world.coin(), fee=0)
    child = world.spend(out(parent), fee=100_000)
    answer = call(world, "submitpackage", [parent.raw.hex(), child.raw.hex()], "0.0001")
    assert answer["tx-results"][hash_to_hex(child.wtxid)]["error"] == "max feerate exceeded"
    assert call(world, "submitpackage", [parent.raw.hex(), child.raw.hex()], 0)["package_msg"] == "success"
