"""What -txindex adds to getrawtransaction, /rest/tx, gettxoutproof and getindexinfo."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import hash_from_hex, make_outpoint
from clarion.node.primitives.script import witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.plugins.bundled.txindex import TxIndex
from helpers.api_stack import ApiStack

ANYONE = witness_script(0, sha256(b"\x51"))
WALLET = ". Use gettransaction for wallet transactions."


class Spent(NamedTuple):
    """A chain whose transaction `txid` has no unspent output; `block` holds it."""

    stack: ApiStack
    block: str
    tx: Transaction
    txid: str


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spent]:
    stack = ApiStack(tmp_path_factory.mktemp("txindex"), indexes=[TxIndex()]).ready()
    first = stack.result("generatetodescriptor", 102, f"raw({ANYONE.hex()})")[0]
    coinbase = stack.result("getblock", first)["tx"][0]
    parent = pay(coinbase, 49_90000000)
    block = stack.result("generateblock", "raw(51)", [parent.raw.hex()])["hash"]
    child = pay(parent.txid[::-1].hex(), 49_80000000)
    stack.result("generateblock", "raw(51)", [child.raw.hex()])
    yield Spent(stack, block, parent, parent.txid[::-1].hex())
    stack.close()


def pay(txid: str, sat: int) -> Transaction:
    txin = TxIn(make_outpoint(hash_from_hex(txid), 0), witness=(b"\x51",))
    return Transaction(2, [txin], [TxOut(sat, ANYONE)])


def test_any_transaction_is_found(spent: Spent) -> None:
    assert spent.stack.result("getrawtransaction", spent.txid) == spent.tx.raw.hex()
    answer = spent.stack.result("getrawtransaction", spent.txid, 1)
    assert (answer["blockhash"], answer["confirmations"]) == (spent.block, 2)
    assert "in_active_chain" not in answer


def test_fee_and_spent_outputs(spent: Spent) -> None:
    answer = spent.stack.result("getrawtransaction", spent.txid, 2)
    assert str(answer["fee"]) == "0.10000000"
    assert answer["vin"][0]["prevout"]["height"] == 1


def test_unknown_transaction(spent: Spent) -> None:
    assert spent.stack.error("getrawtransaction", "ab" * 32) == (
        -5,
        "No such mempool or blockchain transaction" + WALLET,
    )
    assert spent.stack.get("/rest/tx/" + "ab" * 32 + ".hex").status_code == 404


def test_over_rest(spent: Spent) -> None:
    assert spent.stack.get(f"/rest/tx/{spent.txid}.bin").content == spent.tx.raw
    assert spent.stack.get(f"/rest/tx/{spent.txid}.json").json()["blockhash"] == spent.block


def test_proof_of_a_spent_transaction(spent: Spent) -> None:
    proof = spent.stack.result("gettxoutproof", [spent.txid])
    assert spent.stack.result("verifytxoutproof", proof) == [spent.txid]
    assert spent.stack.error("gettxoutproof", ["ab" * 32]) == (-5, "Transaction not yet in block")


def test_how_far_the_index_is(spent: Spent) -> None:
    assert spent.stack.result("getindexinfo") == {"txindex": {"synced": True, "best_block_height": 104}}
    assert spent.stack.result("getindexinfo", "other") == {}


def test_transaction_of_a_block_that_was_left(tmp_path_factory: pytest.TempPathFactory) -> None:
    stack = ApiStack(tmp_path_factory.mktemp("left"), indexes=[TxIndex()]).ready()
    block = stack.result("generatetodescriptor", 1, "raw(51)")[0]
    coinbase = stack.result("getblock", block)["tx"][0]
    stack.result("invalidateblock", block)
    answer = stack.result("getrawtransaction", coinbase, 1)
    assert (answer["blockhash"], answer["confirmations"]) == (block, 0)
    stack.close()


def test_while_the_index_is_built(tmp_path_factory: pytest.TempPathFactory) -> None:
    stack = ApiStack(tmp_path_factory.mktemp("built"), indexes=[Stuck()]).ready()
    assert stack.error("getrawtransaction", "ab" * 32) == (
        -5,
        "No such mempool transaction. Blockchain transactions are still in the process of being indexed" + WALLET,
    )
    stack.close()


class Stuck(TxIndex):
    """An index that never takes a block."""

    def connect(self, block: object, batch: object) -> None:
        raise ArithmeticError("stuck")
