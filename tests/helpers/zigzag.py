"""A chain that changes its mind: small blocks with spends, whose tip moves from branch to branch.

Owns: the blocks, the order in which a node hears of them, and what its chain does then. Never: a node.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from clarion.node.primitives.ids import hash_to_hex
from clarion.node.primitives.transaction import Transaction, TxOut
from helpers import chain_builder as build
from helpers.blk_files import join_blocks, split_blocks
from helpers.chain_builder import Built
from helpers.session_files import made_once
from helpers.signing import sha256d
from helpers.world import KEY, Spendable, spend

MAGIC = bytes.fromhex("fabfb5da")
BASE_BLOCKS = 125
TURNS = 14
NEW_COINS = 700
SCRIPTS = (build.OP_TRUE,) * 5 + (KEY.wpkh, KEY.tr, KEY.pkh)
SEED = 20


@dataclass(frozen=True)
class Told:
    """A block as a node hears of it; hashes are in internal order."""

    raw: bytes

    @property
    def hash(self) -> bytes:
        return sha256d(self.raw[:80])

    @property
    def hash_hex(self) -> str:
        return hash_to_hex(self.hash)

    @property
    def prev_hash(self) -> bytes:
        return self.raw[4:36]


class Zigzag:
    """The files of a folder: `blocks.dat` with all good blocks, `base.dat` with those before the first branch,
    and `bad.dat` with branches that would be better, but for a wrong signature at their start."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "blocks.dat"
        self.base_path = folder / "base.dat"
        self.blocks = [Told(raw) for raw in split_blocks(self.path)]
        self.base, self.forks = self.blocks[:BASE_BLOCKS], self.blocks[BASE_BLOCKS:]
        self.bad = [Told(raw) for raw in split_blocks(folder / "bad.dat")]

    @property
    def tip(self) -> Told:
        """The last block of the best chain."""
        return self.blocks[-1]

    def story(self) -> Iterator[tuple[str, bytes]]:
        """Yield ("+", hash) and ("-", hash): what a node's chain does that hears of the blocks one by one, from genesis.

        Difficulty never changes, so the first block of a height that was not reached before moves the tip.
        """
        parents = {told.hash: told.prev_hash for told in self.blocks}
        chain = [build.GENESIS_HASH]
        heights = {build.GENESIS_HASH: 0}
        yield "+", build.GENESIS_HASH
        for told in self.blocks:
            heights[told.hash] = heights[told.prev_hash] + 1
            if heights[told.hash] < len(chain):
                continue
            path, at = [told.hash], told.prev_hash
            while at != (chain[heights[at]] if heights[at] < len(chain) else None):
                path.append(at)
                at = parents[at]
            while chain[-1] != at:
                yield "-", chain.pop()
            for block_hash in reversed(path):
                chain.append(block_hash)
                yield "+", block_hash


def make_zigzag(factory: pytest.TempPathFactory) -> Zigzag:
    """Return the blocks, the same ones every time; their files are written once in a run."""
    return Zigzag(made_once(factory, "zigzag", _write))


def _write(folder: Path) -> None:
    maker = _Maker(random.Random(SEED))
    maker.make()
    join_blocks(folder / "blocks.dat", MAGIC, [_raw(built) for built in maker.blocks])
    join_blocks(folder / "base.dat", MAGIC, [_raw(built) for built in maker.blocks[:BASE_BLOCKS]])
    join_blocks(folder / "bad.dat", MAGIC, [_raw(built) for built in maker.bad])


def _raw(built: Built) -> bytes:
    assert built.block is not None
    return built.block.raw


class _Maker:
    """Builds branch after branch; every block spends coins that its own branch has."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._coins: dict[bytes, list[Spendable]] = {}
        self.blocks: list[Built] = []
        self.bad: list[Built] = []

    def make(self) -> None:
        """Fill `blocks` and `bad`: each turn is a branch and then a longer one from the same block."""
        self.blocks = build.make_chain(build.genesis(), BASE_BLOCKS)
        fork = self.blocks[-1]
        for turn in range(TURNS):
            length = self._rng.randint(1, 6)
            left = self._branch(fork, length)
            right = self._branch(fork, length + 1)
            self.blocks += left + right
            if turn % 4 == 1:
                self.bad += self._bad_branch(left[0], length + 3)
            # The next branches leave the best chain a little below its tip.
            fork = right[-1 - self._rng.randrange(min(len(right), 3))]
        self.blocks += self._branch(self.blocks[-1], 1)

    def _branch(self, at: Built, length: int) -> list[Built]:
        found = []
        for _ in range(length):
            at = self._block(at)
            found.append(at)
        return found

    def _bad_branch(self, at: Built, length: int) -> list[Built]:
        first = self._block(at, [spend([self._keyed(at)], spoil=True)])
        return [first, *build.make_chain(first, length, extra_nonce=1)]

    def _keyed(self, at: Built) -> Spendable:
        return next(coin for coin in self._coins[at.hash] if coin[1].script_pubkey == KEY.wpkh)

    def _block(self, prev: Built, txs: Sequence[Transaction] | None = None) -> Built:
        coins = list(self._coins.get(prev.hash, ()))
        made = list(txs) if txs is not None else self._transactions(prev, coins)
        built = build.make_block(prev, made, extra_nonce=self._rng.randrange(1 << 30))
        for tx in made:
            coins += [build.spendable(tx, index) for index in range(len(tx.outputs))]
        spent = {txin.prevout for tx in made for txin in tx.inputs}
        self._coins[built.hash] = [coin for coin in coins if coin[0] not in spent]
        return built

    def _transactions(self, prev: Built, coins: list[Spendable]) -> list[Transaction]:
        """Return a spend of a ripe coinbase to many coins, spends of old coins, and one of what they made."""
        ripe = self._ripe_coinbase(prev)
        value = ripe[1].value // NEW_COINS
        made = [spend([ripe], [TxOut(value, self._rng.choice(SCRIPTS)) for _ in range(NEW_COINS)])]
        chosen = self._rng.sample(coins, min(len(coins), 60))
        for start in range(0, len(chosen), 10):
            made.append(spend(chosen[start : start + 10]))
        if len(made) > 1:
            made.append(spend([build.spendable(made[1], 0), build.spendable(made[0], 3)]))
        return made

    def _ripe_coinbase(self, prev: Built) -> Spendable:
        at = prev
        for _ in range(build.COINBASE_MATURITY - 1):
            assert at.prev is not None
            at = at.prev
        return at.coinbase_output()
