"""Read methods of the mempool over a real pool: shapes, orders, errors."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from clarion.node.primitives.ids import hash_to_hex, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.anyone import DESCRIPTOR, FEE_SAT, SCRIPT, Money, made_by, spend
from helpers.api_stack import ApiStack

COINBASE_SAT = 50 * 100_000_000
UNKNOWN = "ab" * 32


class Scene:
    """An API over a chain with three mature coins, and a family in the mempool: parent, child, grandchild; a single."""

    def __init__(self, folder: Path) -> None:
        self.stack = ApiStack(folder).ready()
        hashes = self.stack.result("generatetodescriptor", 103, DESCRIPTOR)
        coins = [self.stack.result("getblock", block_hash)["tx"][0] for block_hash in hashes[:3]]
        self.money = [Money(make_outpoint(bytes.fromhex(txid)[::-1], 0), COINBASE_SAT) for txid in coins]
        self.parent = spend([self.money[0]], outputs=2)
        self.child = spend([made_by(self.parent)], fee_sat=9 * FEE_SAT)
        self.grandchild = spend([made_by(self.parent, 1), made_by(self.child)], fee_sat=2 * FEE_SAT)
        self.single = spend([self.money[1]], fee_sat=3 * FEE_SAT)
        for tx in (self.parent, self.child, self.grandchild, self.single):
            self.add(tx)

    def add(self, tx: Transaction) -> None:
        """Put a transaction in."""
        result = self.stack.mempool.accept(tx)
        assert result.error is None, result.error

    def ask(self, method: str, *params: Any) -> Any:
        """Return a method's result."""
        return self.stack.result(method, *params)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = Scene(tmp_path_factory.mktemp("mempool"))
    yield scene
    scene.stack.close()


def _txid(tx: Transaction) -> str:
    return hash_to_hex(tx.txid)


def _coins(satoshis: int) -> Decimal:
    return Decimal(satoshis) / 100_000_000


def test_info_adds_up(scene: Scene) -> None:
    info = scene.ask("getmempoolinfo")
    txs = (scene.parent, scene.child, scene.grandchild, scene.single)
    assert (info["size"], info["bytes"]) == (4, sum(tx.vsize for tx in txs))
    assert info["total_fee"] == _coins(15 * FEE_SAT)
    assert info["usage"] > 4 * 500
    assert (info["limitclustercount"], info["optimal"], info["unbroadcastcount"]) == (64, True, 0)


def test_list_is_in_mining_order_with_the_sequence_of_the_next_change(scene: Scene) -> None:
    answer = scene.ask("getrawmempool", False, True)
    txids = answer["txids"]
    assert sorted(txids) == sorted(map(_txid, (scene.parent, scene.child, scene.grandchild, scene.single)))
    assert txids.index(_txid(scene.parent)) < txids.index(_txid(scene.child)) < txids.index(_txid(scene.grandchild))
    assert txids == scene.ask("getrawmempool") == list(scene.ask("getrawmempool", True))
    assert answer["mempool_sequence"] == scene.stack.mempool.pool.sequence >= 5


def test_verbose_list_has_no_sequence(scene: Scene) -> None:
    error = scene.stack.error("getrawmempool", True, True)
    assert error == (-8, "Verbose results cannot contain mempool sequence values.")


def test_entry_tells_its_relatives(scene: Scene) -> None:
    entry = scene.ask("getmempoolentry", _txid(scene.child))
    sizes = [tx.vsize for tx in (scene.parent, scene.child, scene.grandchild)]
    assert (entry["ancestorcount"], entry["ancestorsize"]) == (2, sizes[0] + sizes[1])
    assert (entry["descendantcount"], entry["descendantsize"]) == (2, sizes[1] + sizes[2])
    assert (entry["depends"], entry["spentby"]) == ([_txid(scene.parent)], [_txid(scene.grandchild)])
    assert entry["fees"]["base"] == entry["fees"]["modified"] == _coins(9 * FEE_SAT)
    assert (entry["fees"]["ancestor"], entry["fees"]["descendant"]) == (_coins(10 * FEE_SAT), _coins(11 * FEE_SAT))
    # The child pays for its parent: both would be mined together.
    assert entry["fees"]["chunk"] == _coins(10 * FEE_SAT)
    assert entry["chunkweight"] == scene.parent.weight + scene.child.weight
    assert (entry["wtxid"], entry["height"]) == (hash_to_hex(scene.child.wtxid), 103)
    assert entry == scene.ask("getrawmempool", True)[_txid(scene.child)]


def test_relatives_are_in_the_order_of_their_hashes_bytes(scene: Scene) -> None:
    family = [scene.parent, scene.child, scene.grandchild]
    ancestors = [_txid(tx) for tx in sorted(family[:2], key=lambda tx: tx.txid)]
    assert scene.ask("getmempoolancestors", _txid(scene.grandchild)) == ancestors
    assert list(scene.ask("getmempoolancestors", _txid(scene.grandchild), True)) == ancestors
    descendants = [_txid(tx) for tx in sorted(family[1:], key=lambda tx: tx.txid)]
    assert scene.ask("getmempooldescendants", _txid(scene.parent)) == descendants
    assert scene.ask("getmempooldescendants", _txid(scene.single), True) == {}


@pytest.mark.parametrize(
    "method", ["getmempoolentry", "getmempoolancestors", "getmempooldescendants", "getmempoolcluster"]
)
def test_unknown_transactions_are_refused(scene: Scene, method: str) -> None:
    assert scene.stack.error(method, UNKNOWN) == (-5, "Transaction not in mempool")
    assert scene.stack.error(method, "ab") == (-8, "txid must be of length 64 (not 2, for 'ab')")


def test_cluster_is_told_by_chunks(scene: Scene) -> None:
    cluster = scene.ask("getmempoolcluster", _txid(scene.grandchild))
    family = (scene.parent, scene.child, scene.grandchild)
    assert (cluster["txcount"], cluster["clusterweight"]) == (3, sum(tx.weight for tx in family))
    assert [chunk["txs"] for chunk in cluster["chunks"]] == [
        [_txid(scene.parent), _txid(scene.child)],
        [_txid(scene.grandchild)],
    ]
    assert [chunk["chunkfee"] for chunk in cluster["chunks"]] == [_coins(10 * FEE_SAT), _coins(2 * FEE_SAT)]


def test_diagram_begins_at_zero_and_ends_at_the_whole(scene: Scene) -> None:
    points = scene.ask("getmempoolfeeratediagram")
    assert points[0] == {"weight": 0, "fee": 0}
    assert len(points) == 4
    weight = sum(tx.weight for tx in (scene.parent, scene.child, scene.grandchild, scene.single))
    assert points[-1] == {"weight": weight, "fee": _coins(15 * FEE_SAT)}


def test_spenders_are_found(scene: Scene) -> None:
    asked = [{"txid": _txid(scene.parent), "vout": 0}, {"vout": 0, "txid": _txid(scene.grandchild)}]
    spent, unspent = scene.ask("gettxspendingprevout", asked, {"return_spending_tx": True})
    assert spent == {**asked[0], "spendingtxid": _txid(scene.child), "spendingtx": scene.child.raw.hex()}
    assert unspent == asked[1]
    (only,) = scene.ask("gettxspendingprevout", asked[:1])
    assert only == {**asked[0], "spendingtxid": _txid(scene.child)}


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ([[]], (-8, "Invalid parameter, outputs are missing")),
        ([[{"txid": UNKNOWN}]], (-3, "Missing vout")),
        (
            [[{"txid": UNKNOWN, "vout": "0"}]],
            (-3, "JSON value of type string for field vout is not of expected type number"),
        ),
        ([[{"txid": UNKNOWN, "vout": -1}]], (-8, "Invalid parameter, vout cannot be negative")),
        ([[{"txid": UNKNOWN, "vout": 0, "x": 1}]], (-3, "Unexpected key x")),
        ([[{"txid": UNKNOWN, "vout": 0}], {"x": 1}], (-3, "Unexpected key x")),
        (["x"], None),
        ([["x"]], (-3, "JSON value of type string is not of expected type object")),
        (
            [[{"txid": UNKNOWN, "vout": 0}], {"mempool_only": False}],
            (-1, "Mempool lacks a relevant spend, and txospenderindex is unavailable."),
        ),
        (
            [[{"txid": UNKNOWN, "vout": 0}], {"mempool_only": None}],
            (-3, "JSON value of type null is not of expected type bool"),
        ),
    ],
)
def test_wrong_questions_for_spenders(scene: Scene, params: list[Any], error: tuple[int, str] | None) -> None:
    given = scene.stack.error("gettxspendingprevout", *params)
    assert given == error if error else given[0] == -3


def test_outputs_of_the_mempool_count_unless_they_are_left_out(scene: Scene) -> None:
    made = scene.ask("gettxout", _txid(scene.grandchild), 0)
    assert (made["confirmations"], made["coinbase"]) == (0, False)
    assert made["bestblock"] == scene.ask("getbestblockhash")
    assert scene.ask("gettxout", _txid(scene.grandchild), 0, False) is None
    assert scene.ask("gettxout", _txid(scene.grandchild), 1) is None
    spent = hash_to_hex(scene.money[0].outpoint[:32])
    assert scene.ask("gettxout", spent, 0) is None
    assert scene.ask("gettxout", spent, 0, False)["confirmations"] == 103


def test_priority_counts_and_adds_up(scene: Scene) -> None:
    txid = _txid(scene.single)
    assert scene.ask("prioritisetransaction", txid, 0.0, 5000) is True
    assert scene.ask("prioritisetransaction", UNKNOWN, None, -7) is True
    assert scene.ask("getprioritisedtransactions") == {
        txid: {"fee_delta": 5000, "in_mempool": True, "modified_fee": 5000 + 3 * FEE_SAT},
        UNKNOWN: {"fee_delta": -7, "in_mempool": False},
    }
    fees = scene.ask("getmempoolentry", txid)["fees"]
    assert (fees["base"], fees["modified"]) == (_coins(3 * FEE_SAT), _coins(5000 + 3 * FEE_SAT))
    scene.ask("prioritisetransaction", txid, 0, -5000)
    scene.ask("prioritisetransaction", UNKNOWN, 0, 7)
    assert scene.ask("getprioritisedtransactions") == {}


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (
            (UNKNOWN, 1, 0),
            (-8, "Priority is no longer supported, dummy argument to prioritisetransaction must be 0."),
        ),
        ((UNKNOWN, 0, 0.5), (-1, "JSON integer out of range")),
        (("foo", 0, 0), (-8, "txid must be of length 64 (not 3, for 'foo')")),
    ],
)
def test_wrong_priorities(scene: Scene, params: tuple[Any, ...], error: tuple[int, str]) -> None:
    assert scene.stack.error("prioritisetransaction", *params) == error


def test_dust_gets_no_priority(scene: Scene) -> None:
    dusty = spend([scene.money[2]], fee_sat=0)
    outputs = [TxOut(dusty.outputs[0].value, SCRIPT), TxOut(0, SCRIPT)]
    dusty = Transaction(3, [TxIn(scene.money[2].outpoint, b"", 0xFFFFFFFD, (b"\x51",))], outputs)
    sweep = spend([made_by(dusty), made_by(dusty, 1)])
    package = [dusty, Transaction(3, sweep.inputs, sweep.outputs)]
    assert scene.stack.mempool.accept_package(package).error is None
    error = scene.stack.error("prioritisetransaction", _txid(dusty), 0, 100)
    assert error == (-8, "Priority is not supported for transactions with dust outputs.")


def test_orphans_are_told_by_verbosity(scene: Scene) -> None:
    assert scene.ask("getorphantxs") == []
    network = scene.stack.network
    for peer in (5, 3):
        network.call(network.relay.download.orphans.add, scene.single, peer)
    assert scene.ask("getorphantxs", 0) == [_txid(scene.single)]
    (told,) = scene.ask("getorphantxs", 2)
    assert (told["from"], told["hex"], told["vsize"]) == ([3, 5], scene.single.raw.hex(), scene.single.vsize)
    assert "hex" not in scene.ask("getorphantxs", 1)[0]
    assert scene.stack.error("getorphantxs", 3) == (-8, "Invalid verbosity value 3")
    assert scene.stack.error("getorphantxs", True)[1] == "Verbosity was boolean but only integer allowed"
    network.call(network.relay.download.orphans.erase, scene.single.wtxid)


def test_rest_tells_the_mempool(scene: Scene) -> None:
    contents = scene.stack.get("/rest/mempool/contents.json").json()
    assert list(contents) == scene.ask("getrawmempool")
    listed = scene.stack.get("/rest/mempool/contents.json?verbose=false&mempool_sequence=true").json()
    assert listed == scene.ask("getrawmempool", False, True)
    assert scene.stack.get("/rest/mempool/info.json").json()["size"] == len(contents)


def test_members_of_deprecated_calls(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fullrbf" not in scene.ask("getmempoolinfo")
    config = replace(scene.stack.context.config, deprecated_rpc=("fullrbf", "bip125"))
    monkeypatch.setattr(scene.stack.context, "config", config)
    assert scene.ask("getmempoolinfo")["fullrbf"] is True
    assert scene.ask("getmempoolentry", _txid(scene.child))["bip125-replaceable"] is True
