"""Watches on a random chain with reorganisations and restarts equal what its active chain, read from the start, says."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from clarion.node.chain.indexes.indexes import Indexes
from clarion.plugins import ledger
from clarion.plugins.bundled.watches.index import NAME, STORE_NAME, WatchIndex
from clarion.plugins.bundled.watches.reading import history, list_watches
from clarion.plugins.bundled.watches.records import NO_RANGE
from helpers.chain_builder import Built
from helpers.chain_node import ChainNode
from helpers.coin_model import BASE, CoinModel, extend
from helpers.index_runs import index_view, open_indexes, wait_for_tip, wait_until

SCRIPTS = [b"\x51", b"\x51\x51", b"\x51\x61", b"\x51\x61\x61", b"\x6a\x01\x07", b"\x52"]


@dataclass
class Wanted:
    """A watch as it should be. `since` is the height from which on a script is counted."""

    start: int
    since: dict[bytes, int] = field(default_factory=dict)

    def entries(self, model: CoinModel) -> list[tuple[int, int, str, int, int]]:
        """Return (height, position, txid, received, sent) of its transactions in the chain."""
        found = []
        for built, spent in zip(model.chain, model.spent, strict=True):
            for position, tx in enumerate(built.txs):
                received = [out.value for out in tx.outputs if self._counts(out.script_pubkey, built.height)]
                coins = spent[position - 1] if position else []
                sent = [coin.value for coin in coins if self._counts(coin.script_pubkey, built.height)]
                if received or sent:
                    found.append((built.height, position, tx.txid[::-1].hex(), sum(received), sum(sent)))
        return found

    def _counts(self, script: bytes, height: int) -> bool:
        return script in self.since and height >= max(self.start, self.since[script])


class Game:
    """A node, its watches, and what they should be."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self.rng = rng
        self.node = ChainNode(folder)
        self.node.submit(*BASE)
        self.tip: Built = BASE[-1]
        self.wanted: dict[str, Wanted] = {}
        self.index = WatchIndex()
        self.indexes: Indexes = open_indexes(self.node, [self.index])
        self.indexes.start()

    def settle(self) -> None:
        wait_for_tip(self.node, self.indexes)
        wait_until(lambda: self.index.lowest_needed is None, lambda: self.index.lowest_needed)

    def restart(self) -> None:
        self.indexes.stop()
        self.index = WatchIndex()
        self.indexes = open_indexes(self.node, [self.index])
        self.indexes.start()

    def chain(self) -> None:
        depth = self.rng.choice([0, 0, 1, 3])
        for _ in range(depth):
            assert self.tip.prev is not None
            self.tip = self.tip.prev
        for _ in range(depth + 1 + self.rng.randrange(2)):
            self.tip = extend(self.rng, self.tip)
            self.node.submit(self.tip)

    def add(self) -> None:
        name, scripts = f"w{len(self.wanted)}-{self.rng.random()}", self.rng.sample(SCRIPTS, 2)
        start = self.rng.choice([0, 1, self.tip.height - 2, self.tip.height + 1])
        self.wanted[name] = Wanted(start, dict.fromkeys(scripts, 0))
        job = self.index.add(name, start, [(script, NO_RANGE, 0) for script in scripts], [])
        assert self.indexes.call(NAME, job).result(30) == name

    def remove(self) -> None:
        if self.wanted:
            name = self.rng.choice(sorted(self.wanted))
            del self.wanted[name]
            self.indexes.call(NAME, self.index.remove(name)).result(30)

    def rescan(self) -> None:
        if self.wanted:
            name = self.rng.choice(sorted(self.wanted))
            wanted = self.wanted[name]
            wanted.start = self.rng.choice([0, 50, self.tip.height])
            wanted.since = dict.fromkeys(wanted.since, 0)
            self.indexes.call(NAME, self.index.rescan(name, wanted.start)).result(30)

    def check(self) -> None:
        self.settle()
        model = CoinModel(self.tip)
        assert self.node.tip == self.tip.hash
        with index_view(self.node, STORE_NAME) as view:
            told = {each["name"]: each for each in list_watches(view)}
            assert told.keys() == self.wanted.keys()
            for name, wanted in self.wanted.items():
                entries = wanted.entries(model)
                assert told[name]["caught_up"]
                assert told[name]["transactions"] == len(entries)
                assert told[name]["received_sat"] == sum(entry[3] for entry in entries)
                assert told[name]["balance_sat"] == sum(entry[3] - entry[4] for entry in entries)
                page = history(view, name, None, 1000)["entries"]
                shown = [
                    (e["height"], int(e["place"].split(":")[1]), e["txid"], e["received_sat"], e["sent_sat"])
                    for e in page
                ]
                assert shown == entries
            assert not ledger.history(view, 10**6, 0, 0, 1)

    def close(self) -> None:
        self.indexes.stop()
        self.node.close()


@pytest.mark.parametrize("seed", range(4))
def test_watches_are_what_the_active_chain_says(seed: int, tmp_path: Path) -> None:
    game = Game(random.Random(seed), tmp_path)
    try:
        for _ in range(12):
            step = game.rng.choice([game.chain, game.chain, game.add, game.add, game.remove, game.rescan, game.restart])
            step()
            if game.rng.random() < 0.3:
                game.check()
        game.check()
        # Everything that was removed is cleared away.
        wait_until(lambda: not _rubbish(game.node), lambda: _rubbish(game.node))
    finally:
        game.close()


def _rubbish(node: ChainNode) -> int:
    with index_view(node, STORE_NAME) as view:
        return len(view.range(b"g", b"h", 10))
