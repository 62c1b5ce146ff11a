"""Watches: windows that grow, refusals, what outlives a reindex, and what is not there to be counted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clarion.node.chain.indexes.indexes import Indexes
from clarion.node.errors import RpcError
from clarion.node.params.chain_params import select_params
from clarion.node.primitives.descriptor_range import read_descriptor_range
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from clarion.plugins.bundled.watches.definition import check_name, read_definition
from clarion.plugins.bundled.watches.index import NAME, STORE_NAME, WatchIndex
from clarion.plugins.bundled.watches.reading import history, watch
from clarion.plugins.bundled.watches.records import NO_RANGE, StoredRange
from helpers.chain_builder import Built, genesis, make_block, make_chain
from helpers.chain_node import ChainNode
from helpers.index_runs import index_view, open_indexes, wait_for_tip, wait_until

XPUB = "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B"
RANGED = f"wpkh({XPUB}/0/*)"
CHAIN = make_chain(genesis(), 101)


class Watching:
    """A node with its index of watches."""

    def __init__(self, folder: Path) -> None:
        self.node = ChainNode(folder)
        self.derived = [
            script
            for script, _ in read_descriptor_range({"desc": RANGED, "range": 40}, self.node.params).scripts(0, 40)
        ]
        self.tip: Built = CHAIN[-1]
        self.node.submit(*CHAIN)
        self.open()

    def open(self) -> None:
        self.index = WatchIndex()
        self.indexes: Indexes = open_indexes(self.node, [self.index])
        self.indexes.start()

    def do(self, job: Any) -> Any:
        return self.indexes.call(NAME, job).result(30)

    def add_window(self, name: str, gap: int, start: int | None = None) -> None:
        described = read_descriptor_range({"desc": RANGED, "gap": gap}, self.node.params)
        scripts = [(script, 0, index) for script, index in described.scripts(0, described.last)]
        self.do(self.index.add(name, start, scripts, [StoredRange(RANGED, 0, described.last, gap)]))

    def pay(self, *indexes: int, prev: Built | None = None) -> Built:
        """Connect a block that pays to the descriptor's scripts at these indexes, each from the one before."""
        built = self.tip if prev is None else prev
        coin, output = CHAIN[0 if prev is None else 1].coinbase_output()
        outputs = [TxOut(1000 + index, self.derived[index]) for index in indexes]
        tx = Transaction(2, [TxIn(coin)], [*outputs, TxOut(output.value - 100_000, b"\x51")])
        self.tip = make_block(built, [tx], extra_nonce=len(indexes))
        self.node.submit(self.tip)
        return self.tip

    def show(self, name: str) -> dict[str, Any]:
        wait_for_tip(self.node, self.indexes)
        wait_until(lambda: self.index.lowest_needed is None, lambda: self.index.lowest_needed)
        with index_view(self.node, STORE_NAME) as view:
            return watch(view, name)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    made = Watching(tmp_path)
    yield made
    made.indexes.stop()
    made.node.close()


def test_window_grows_within_one_block_whatever_the_order(watching: Watching) -> None:
    watching.add_window("w", 5)
    watching.pay(9, 4, 30)
    shown = watching.show("w")
    assert shown["received_sat"] == 1009 + 1004
    assert shown["descriptors"][0]["range"] == [0, 14]
    assert shown["scripts"] == 15


def test_block_is_taken_back_as_it_was_counted_though_the_window_has_grown_since(watching: Watching) -> None:
    watching.add_window("w", 5)
    first = watching.tip
    watching.pay(9)
    assert watching.show("w")["received_sat"] == 0
    coin, output = CHAIN[1].coinbase_output()
    tx = Transaction(2, [TxIn(coin)], [TxOut(1, watching.derived[4]), TxOut(output.value - 1, b"\x51")])
    second = make_block(watching.tip, [tx])
    watching.node.submit(second)
    assert watching.show("w")["received_sat"] == 1
    watching.node.submit(*make_chain(first, 3, extra_nonce=7))
    shown = watching.show("w")
    assert (shown["received_sat"], shown["sent_sat"], shown["transactions"]) == (0, 0, 0)


def test_rescan_sees_what_the_grown_window_had_missed(watching: Watching) -> None:
    watching.add_window("w", 5)
    watching.pay(9)
    watching.pay(4, prev=watching.tip)
    assert watching.show("w")["received_sat"] == 1004
    watching.do(watching.index.rescan("w", 0))
    assert watching.show("w")["received_sat"] == 1009 + 1004


def test_two_watches_of_one_script_stay_apart(watching: Watching) -> None:
    for name in ("a", "b"):
        watching.do(watching.index.add(name, None, [(watching.derived[0], NO_RANGE, 0)], []))
    watching.do(watching.index.remove("a"))
    watching.pay(0)
    assert watching.show("b")["received_sat"] == 1000
    with index_view(watching.node, STORE_NAME) as view, pytest.raises(RpcError, match="no watch 'a'"):
        watch(view, "a")


def test_extended_watch_counts_new_scripts_from_then_on(watching: Watching) -> None:
    watching.do(watching.index.add("w", None, [(watching.derived[0], NO_RANGE, 0)], []))
    watching.pay(0, 1)
    assert watching.show("w")["received_sat"] == 1000
    watching.do(watching.index.extend("w", [(watching.derived[1], NO_RANGE, 0)], []))
    watching.pay(0, 1, prev=watching.tip)
    assert watching.show("w")["received_sat"] == 1000 + 1000 + 1001
    with index_view(watching.node, STORE_NAME) as view:
        page = history(view, "w", None, 1)
        assert (page["entries"][0]["received_sat"], page["next"]) == (1000, "102:1")
        assert history(view, "w", page["next"], 1)["entries"][0]["received_sat"] == 2001


def test_watches_outlive_a_database_that_is_built_again(watching: Watching) -> None:
    watching.add_window("w", 5, 0)
    watching.pay(4)
    before = watching.show("w")
    watching.indexes.stop()
    store = watching.node.database.open_index(STORE_NAME, watching.node.params, WatchIndex.kept_prefix)
    store.wipe()
    store.close()
    watching.open()
    after = watching.show("w")
    assert before == after
    assert after["received_sat"] == 1004


def test_refusals_change_nothing(watching: Watching) -> None:
    watching.add_window("w", 5)
    with pytest.raises(RpcError, match="a watch 'w' already"):
        watching.add_window("w", 5)
    for job in (watching.index.remove("x"), watching.index.rescan("x", 0), watching.index.extend("x", [], [])):
        with pytest.raises(RpcError, match="no watch 'x'"):
            watching.do(job)
    assert watching.show("w")["scripts"] == 5


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "nothing to watch"),
        ({"colour": 1}, "no field 'colour'"),
        ({"addresses": ["nobody"]}, "addresses: "),
        ({"addresses": "bc1"}, "addresses: a list"),
        ({"scripts": ["5"]}, "scripts: "),
        ({"scripts": [""]}, "1 to 250 bytes"),
        ({"scripts": ["51" * 251]}, "1 to 250 bytes"),
        ({"descriptors": [{"desc": RANGED, "gap": "x"}]}, "descriptors: gap"),
        ({"scripts": ["51"], "start": -1}, "start: "),
    ],
)
def test_wrong_definition_names_its_field(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(RpcError, match=words):
        read_definition(fields, select_params("regtest"))


@pytest.mark.parametrize("name", ["", "-x", "a/b", "a" * 65, 7, None])
def test_name_that_is_none_is_refused(name: object) -> None:
    with pytest.raises(RpcError, match="A watch's name"):
        check_name(name)
