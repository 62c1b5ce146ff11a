"""getrawtransaction and /rest/tx."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from clarion.node.primitives.hashes import sha256, sha256d
from clarion.node.primitives.ids import hash_from_hex, hash_to_hex, make_outpoint
from clarion.node.primitives.script import witness_script
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.api_stack import ApiStack

WALLET = ". Use gettransaction for wallet transactions."
FORMATS = "output format not found (available: .bin, .hex, .json)\r\n"
NOT_IN_MEMPOOL = (
    -5,
    "No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries"
    + WALLET,
)


ANYONE = witness_script(0, sha256(b"\x51"))
"""An output that anyone may spend with the witness `ANYONES_WITNESS`, and standard all the same."""
ANYONES_WITNESS = (b"\x51",)


class Spend(NamedTuple):
    """A block above the coinbase's maturity with a transaction that pays 49.9 of a coinbase's 50 to anyone."""

    stack: ApiStack
    block: str
    raw: str
    txid: str
    coinbase: str


def spending(txid: str, sat: int) -> Transaction:
    """Return a transaction that spends an output of anyone's and makes one."""
    txin = TxIn(make_outpoint(hash_from_hex(txid), 0), witness=ANYONES_WITNESS)
    return Transaction(2, [txin], [TxOut(sat, ANYONE)])


@pytest.fixture(scope="module")
def spend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spend]:
    stack = ApiStack(tmp_path_factory.mktemp("lookup")).ready()
    first = stack.result("generatetodescriptor", 102, f"raw({ANYONE.hex()})")[0]
    coinbase = stack.result("getblock", first)["tx"][0]
    raw = spending(coinbase, 49_90000000).raw.hex()
    block = stack.result("generateblock", "raw(51)", [raw])["hash"]
    txids = stack.result("getblock", block)["tx"]
    yield Spend(stack, block, raw, txids[1], txids[0])
    stack.close()


def test_hex(spend: Spend) -> None:
    for verbosity in (None, 0, False, -1):
        assert spend.stack.result("getrawtransaction", spend.txid, verbosity, spend.block) == spend.raw
    assert spend.stack.result("getrawtransaction", txid=spend.txid, verbose=0, blockhash=spend.block) == spend.raw


def test_object_is_the_decoded_transaction_with_its_block(spend: Spend) -> None:
    answer = spend.stack.result("getrawtransaction", spend.txid, True, spend.block)
    header = spend.stack.result("getblockheader", spend.block)
    assert answer == spend.stack.result("decoderawtransaction", spend.raw) | {
        "in_active_chain": True,
        "hex": spend.raw,
        "blockhash": spend.block,
        "confirmations": 1,
        "time": header["time"],
        "blocktime": header["time"],
    }


def test_fee_and_spent_outputs(spend: Spend) -> None:
    answer = spend.stack.result("getrawtransaction", spend.txid, 2, spend.block)
    assert answer["fee"] == Decimal("0.1")
    prevout = answer["vin"][0]["prevout"]
    assert (prevout["generated"], prevout["height"], prevout["value"]) == (True, 1, 50)
    plain = spend.stack.result("getrawtransaction", spend.txid, 1, spend.block)
    del answer["fee"], answer["vin"][0]["prevout"]
    assert answer == plain


def test_coinbase_has_no_fee(spend: Spend) -> None:
    answer = spend.stack.result("getrawtransaction", spend.coinbase, 2, spend.block)
    assert answer == spend.stack.result("getrawtransaction", spend.coinbase, 1, spend.block)
    assert "fee" not in answer


def test_block_off_the_active_chain(spend: Spend) -> None:
    spend.stack.result("invalidateblock", spend.block)
    answer = spend.stack.result("getrawtransaction", spend.txid, 2, spend.block)
    spend.stack.result("reconsiderblock", spend.block)
    assert (answer["in_active_chain"], answer["confirmations"], answer["fee"]) == (False, 0, Decimal("0.1"))
    assert "time" not in answer
    assert "blocktime" not in answer


def test_not_found(spend: Spend) -> None:
    stack = spend.stack
    assert stack.error("getrawtransaction", spend.txid) == NOT_IN_MEMPOOL
    elsewhere = (-5, "No such transaction found in the provided block" + WALLET)
    assert stack.error("getrawtransaction", spend.txid, 0, stack.result("getblockhash", 1)) == elsewhere
    assert stack.error("getrawtransaction", spend.txid, 0, "0" * 64) == (-5, "Block hash not found")
    genesis = stack.result("getblock", stack.result("getblockhash", 0))["merkleroot"]
    assert stack.error("getrawtransaction", genesis) == (
        -5,
        "The genesis block coinbase is not considered an ordinary transaction and cannot be retrieved",
    )


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        (["00"], -8, "parameter 1 must be of length 64 (not 2, for '00')"),
        (["0" * 64, 0, "00"], -8, "parameter 3 must be of length 64 (not 2, for '00')"),
        (["0" * 64, "True"], -3, "JSON value of type string is not of expected type number"),
        (["0" * 64, []], -3, "JSON value of type array is not of expected type number"),
    ],
)
def test_refused(spend: Spend, params: list[Any], code: int, message: str) -> None:
    assert spend.stack.error("getrawtransaction", *params) == (code, message)


def test_block_that_is_not_stored(spend: Spend) -> None:
    block = spend.stack.result("getblock", spend.block, 0)
    header = bytearray.fromhex(block[:160])
    header[4:36] = bytes.fromhex(spend.block)[::-1]
    header[68:72] = (int.from_bytes(header[68:72], "little") + 600).to_bytes(4, "little")
    raw_header = _mined(header)
    spend.stack.result("submitheader", raw_header.hex())
    unknown = sha256d(raw_header)[::-1].hex()
    assert spend.stack.error("getrawtransaction", spend.txid, 0, unknown) == (-1, "Block not available")


def _mined(header: bytearray) -> bytes:
    while sha256d(bytes(header))[31] >= 0x80:
        header[76] += 1
    return bytes(header)


def test_files_that_are_gone(spend: Spend) -> None:
    folder = spend.stack.context.blocks_dir
    for name in ("rev00000.dat", "blk00000.dat"):
        (folder / name).rename(folder / f"{name}.away")
        try:
            code = spend.stack.error("getrawtransaction", spend.txid, 2, spend.block)[0]
        finally:
            (folder / f"{name}.away").rename(folder / name)
        assert code == (-32603 if name.startswith("rev") else -5)


@pytest.fixture(scope="module")
def waiting(spend: Spend) -> Transaction:
    """Return a transaction in the mempool that spends the block's."""
    tx = spending(spend.txid, 49_80000000)
    assert spend.stack.context.mempool.accept(tx).valid
    return tx


def test_mempool(spend: Spend, waiting: Transaction) -> None:
    txid = hash_to_hex(waiting.txid)
    assert spend.stack.result("getrawtransaction", txid) == waiting.raw.hex()
    answer = spend.stack.result("getrawtransaction", txid, 1)
    assert answer == spend.stack.result("decoderawtransaction", waiting.raw.hex()) | {"hex": waiting.raw.hex()}
    # There is no undo data that could tell the fee.
    assert spend.stack.result("getrawtransaction", txid, 2) == answer
    elsewhere = (-5, "No such transaction found in the provided block" + WALLET)
    assert spend.stack.error("getrawtransaction", txid, 0, spend.block) == elsewhere


def test_outputs_of_the_mempool_can_be_signed_for(spend: Spend, waiting: Transaction) -> None:
    inputs = [{"txid": hash_to_hex(waiting.txid), "vout": vout} for vout in (0, 1)]
    raw = spend.stack.result("createrawtransaction", inputs, {"data": "00"})
    errors = spend.stack.result("signrawtransactionwithkey", raw, [])["errors"]
    assert [error["error"] for error in errors] == [
        "Witness program was passed an empty witness",
        "Input not found or already spent",
    ]


def test_rest_tx(spend: Spend, waiting: Transaction) -> None:
    path = f"/rest/tx/{hash_to_hex(waiting.txid)}"
    assert spend.stack.get(f"{path}.bin").content == waiting.raw
    assert spend.stack.get(f"{path}.hex").text == waiting.raw.hex() + "\n"
    answer = json.loads(spend.stack.get(f"{path}.json").content, parse_float=Decimal)
    assert answer == spend.stack.result("getrawtransaction", hash_to_hex(waiting.txid), 1)
    unknown = spend.stack.get(path)
    assert (unknown.status_code, unknown.text) == (404, FORMATS)


@pytest.mark.parametrize("ending", ["bin", "hex", "json"])
def test_rest_tx_not_found(spend: Spend, ending: str) -> None:
    answer = spend.stack.get(f"/rest/tx/{spend.txid}.{ending}")
    assert (answer.status_code, answer.text) == (404, f"{spend.txid} not found\r\n")
    assert spend.stack.get(f"/rest/tx/zz.{ending}").text == "Invalid hash: zz\r\n"
