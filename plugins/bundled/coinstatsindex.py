"""-coinstatsindex: statistics of the unspent outputs at every block, and their multiset hash.

Owns: what is counted, and how it is stored. Never: the coins.
"b" + height + hash holds a block's `CoinStats`, also once it left the chain; "muhash" the running hash as a fraction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from clarion.node.chain.indexes.index import Index, IndexBatch, IndexedBlock
from clarion.node.config import Config
from clarion.node.consensus.bip30 import is_bip30_unspendable
from clarion.node.consensus.subsidy import block_subsidy
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.coin_hash import BOGO_BYTES, coin_bytes
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.muhash import MuHash3072
from clarion.node.primitives.script import is_unspendable
from clarion.node.primitives.transaction import Transaction
from clarion.plugins.hookspecs import hookimpl

NAME = "coinstatsindex"
STORE_NAME = "coinstatsindex"

_MUHASH = b"muhash"
_NUMBER_BYTES = 16


@dataclass(frozen=True, slots=True)
class CoinStats:
    """The coins at a block, and sums over all blocks up to it. Amounts in satoshis, `muhash` in internal order."""

    muhash: bytes = b""
    outputs: int = 0
    bogosize: int = 0
    total: int = 0
    subsidy: int = 0
    prevouts_spent: int = 0
    new_outputs: int = 0
    coinbase: int = 0
    unspendable_genesis: int = 0
    unspendable_bip30: int = 0
    unspendable_scripts: int = 0
    unclaimed_rewards: int = 0

    @property
    def unspendable(self) -> int:
        """Everything that can never be spent."""
        return self.unspendable_genesis + self.unspendable_bip30 + self.unspendable_scripts + self.unclaimed_rewards

    def serialize(self) -> bytes:
        """Return the stored form: the hash, then each number in 16 bytes, which no sum outgrows."""
        numbers = list(asdict(self).values())[1:]
        return self.muhash + b"".join([number.to_bytes(_NUMBER_BYTES, "little") for number in numbers])

    @classmethod
    def parse(cls, data: bytes) -> "CoinStats":
        """Return what `serialize` wrote."""
        numbers = [
            int.from_bytes(data[at : at + _NUMBER_BYTES], "little") for at in range(32, len(data), _NUMBER_BYTES)
        ]
        return cls(data[:32], *numbers)


def stats_key(height: int, block_hash: bytes) -> bytes:
    """Return the key of a block's statistics."""
    return b"b" + height.to_bytes(4, "big") + block_hash


class CoinStatsIndex:
    """The index of statistics."""

    name = NAME
    store_name = STORE_NAME
    needs_spent = True

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Add what a block makes, take off what it spends, and store the sums."""
        before = CoinStats()
        if block.height:
            stored = batch.get(stats_key(block.height - 1, block.block.header.prev_hash))
            assert stored is not None, "the parent's statistics are indexed"
            before = CoinStats.parse(stored)
        muhash = _running(batch)
        made, spent = list(_made(block)), list(_spent(block))
        muhash.add(coin_bytes(outpoint, coin) for outpoint, coin in made)
        muhash.remove(coin_bytes(outpoint, coin) for outpoint, coin in spent)
        after = _settle(replace(_counted(before, block, made, spent), muhash=muhash.digest()))
        batch.put(_MUHASH, muhash.serialize())
        batch.put(stats_key(block.height, block.block.hash), after.serialize())

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Take the block out of the running hash; its statistics stay."""
        muhash = _running(batch)
        muhash.add(coin_bytes(outpoint, coin) for outpoint, coin in _spent(block))
        muhash.remove(coin_bytes(outpoint, coin) for outpoint, coin in _made(block))
        batch.put(_MUHASH, muhash.serialize())


def _running(batch: IndexBatch) -> MuHash3072:
    stored = batch.get(_MUHASH)
    return MuHash3072() if stored is None else MuHash3072.parse(stored)


def _counts(block: IndexedBlock) -> Sequence[Transaction]:
    """Return the transactions whose outputs become coins: not genesis', and no coinbase that another overwrites."""
    if not block.height:
        return ()
    txs = block.block.txs
    return txs[1:] if is_bip30_unspendable(block.height, block.block.hash) else txs


def _made(block: IndexedBlock) -> Iterator[tuple[OutPoint, Coin]]:
    for tx in _counts(block):
        code = 2 * block.height + tx.is_coinbase
        for number, txout in enumerate(tx.outputs):
            if not is_unspendable(txout.script_pubkey):
                yield make_outpoint(tx.txid, number), Coin(txout.value, txout.script_pubkey, code)


def _spent(block: IndexedBlock) -> Iterator[tuple[OutPoint, Coin]]:
    for tx, coins in zip(block.block.txs[1:], block.spent, strict=True):
        for txin, coin in zip(tx.inputs, coins, strict=True):
            yield txin.prevout, coin


def _counted(
    before: CoinStats,
    block: IndexedBlock,
    made: Sequence[tuple[OutPoint, Coin]],
    spent: Sequence[tuple[OutPoint, Coin]],
) -> CoinStats:
    subsidy = block_subsidy(block.height, block.params)
    bip30 = block.height > 0 and is_bip30_unspendable(block.height, block.block.hash)
    made_sat, spent_sat = sum(coin.value for _, coin in made), sum(coin.value for _, coin in spent)
    coinbase_sat = sum(coin.value for _, coin in made if coin.is_coinbase)
    all_sat = sum(txout.value for tx in _counts(block) for txout in tx.outputs)
    return CoinStats(
        outputs=before.outputs + len(made) - len(spent),
        bogosize=before.bogosize + _bogosize(made) - _bogosize(spent),
        total=before.total + made_sat - spent_sat,
        subsidy=before.subsidy + subsidy,
        prevouts_spent=before.prevouts_spent + spent_sat,
        new_outputs=before.new_outputs + made_sat - coinbase_sat,
        coinbase=before.coinbase + coinbase_sat,
        unspendable_genesis=before.unspendable_genesis + (0 if block.height else subsidy),
        unspendable_bip30=before.unspendable_bip30 + (subsidy if bip30 else 0),
        unspendable_scripts=before.unspendable_scripts + all_sat - made_sat,
        unclaimed_rewards=before.unclaimed_rewards,
    )


def _bogosize(coins: Sequence[tuple[OutPoint, Coin]]) -> int:
    return sum(BOGO_BYTES + len(coin.script_pubkey) for _, coin in coins)


def _settle(stats: CoinStats) -> CoinStats:
    """Add what is in no sum yet: a subsidy or fees that a miner did not claim."""
    came = stats.prevouts_spent + stats.subsidy
    went = stats.new_outputs + stats.coinbase + stats.unspendable
    return replace(stats, unclaimed_rewards=stats.unclaimed_rewards + came - went)


@hookimpl
def register_indexes(config: Config) -> list[Index]:
    """Return the index if -coinstatsindex asks for it."""
    return [CoinStatsIndex()] if config.coin_stats_index else []
