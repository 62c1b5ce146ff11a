"""A random chain that spends, and its coins block by block, without any of the node's bookkeeping.

Owns: the model and random blocks. Never: a node.
"""

import random

from clarion.node.primitives.coin import Coin
from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers.chain_builder import COINBASE_MATURITY, Built, genesis, make_block, make_chain

BASE = make_chain(genesis(), COINBASE_MATURITY + 5)


class CoinModel:
    """The coins of a branch, with everything that its blocks spend, computed block by block."""

    def __init__(self, tip: Built) -> None:
        self.chain: list[Built] = []
        at: Built | None = tip
        while at is not None and at.block is not None:
            self.chain.insert(0, at)
            at = at.prev
        self.coins: dict[OutPoint, Coin] = {}
        self.spent: list[list[list[Coin]]] = []
        self.spenders: dict[OutPoint, Transaction] = {}
        self.burnt = 0
        for built in self.chain:
            self._add(built)

    def _add(self, built: Built) -> None:
        spent = []
        for position, tx in enumerate(built.txs):
            if position:
                spent.append([self.coins.pop(txin.prevout) for txin in tx.inputs])
                self.spenders.update((txin.prevout, tx) for txin in tx.inputs)
            for number, txout in enumerate(tx.outputs):
                if txout.script_pubkey.startswith(b"\x6a"):
                    self.burnt += txout.value
                else:
                    code = 2 * built.height + (position == 0)
                    self.coins[make_outpoint(tx.txid, number)] = Coin(txout.value, txout.script_pubkey, code)
        self.spent.append(spent)

    def transfers(self) -> dict[bytes, list[tuple[int, int, Txid, int, int]]]:
        """Return each script's transactions as (height, position, txid, received, sent), in the order of the chain."""
        found: dict[bytes, list[tuple[int, int, Txid, int, int]]] = {}
        for built, spent in zip(self.chain, self.spent, strict=True):
            for position, tx in enumerate(built.txs):
                gone = spent[position - 1] if position else []
                scripts = [each.script_pubkey for each in gone] + [each.script_pubkey for each in tx.outputs]
                for script in dict.fromkeys(scripts):
                    received = sum(each.value for each in tx.outputs if each.script_pubkey == script)
                    sent = sum(each.value for each in gone if each.script_pubkey == script)
                    found.setdefault(script, []).append((built.height, position, tx.txid, received, sent))
        return found

    def spendable(self) -> list[tuple[OutPoint, Coin]]:
        """Return the coins that the next block may spend."""
        height = self.chain[-1].height + 1
        return [
            (outpoint, coin)
            for outpoint, coin in self.coins.items()
            if coin.value > 3_000 and (not coin.is_coinbase or height - coin.height >= COINBASE_MATURITY)
        ]


def extend(rng: random.Random, tip: Built) -> Built:
    """Return a block with a few spends, one of which may burn a little."""
    found = CoinModel(tip).spendable()
    txs = []
    for outpoint, coin in rng.sample(found, min(len(found), rng.randrange(3))):
        script = rng.choice([b"\x51", b"\x51\x51", b"\x51\x61"])
        outputs = [TxOut(coin.value - 2_000, script), TxOut(1_000, rng.choice([b"\x6a\x01\x07", b"\x51\x61\x61"]))]
        txs.append(Transaction(2, [TxIn(outpoint)], outputs))
    # Not all of the fees are claimed.
    return make_block(tip, txs, fees=900 * len(txs), extra_nonce=rng.getrandbits(31))
