"""Which transactions of the mempool pay or spend a script.

Owns: finding them by the script's hash, without looking at every transaction. Never: blocks, clients' formats.
"""

from collections.abc import Sequence
from typing import NamedTuple

from clarion.node.mempool.changes import Added, Removed
from clarion.node.mempool.entry import MempoolEntry
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.coin import Coin
from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import OutPoint, Txid, outpoint_txid


class PoolTransfer(NamedTuple):
    """What a transaction of the pool does with a script. Amounts in satoshis.

    `made` are number and value of each output that pays it, `spent` the outpoints of its outputs that go.
    """

    txid: Txid
    fee_sat: int
    has_pool_parents: bool
    """Whether an input is unconfirmed."""
    received: int
    sent: int
    made: list[tuple[int, int]]
    spent: list[OutPoint]


class ScriptPool:
    """Hears of the pool's changes (`changes.PoolObserver`). Read it under the pool's lock."""

    def __init__(self, pool: Mempool) -> None:
        """`pool` must be empty: what is there already is not found."""
        self._pool = pool
        self._by_script: dict[bytes, dict[Txid, None]] = {}
        """Transactions by the SHA-256 of each script that they pay or spend, in the order in which they came."""
        self._spent: dict[Txid, Sequence[Coin]] = {}
        pool.observers.append(self)

    def transfers(self, script_hash: bytes) -> list[PoolTransfer]:
        """Return what the pool does with the script of this SHA-256, in the order in which the transactions came."""
        found = self._by_script.get(script_hash, {})
        return [self._transfer(self._pool.entries[txid], script_hash) for txid in found]

    def tx_added(self, added: Added) -> None:
        """Note the scripts of a transaction."""
        txid = added.entry.txid
        self._spent[txid] = added.spent
        for script_hash in self._script_hashes(added.entry):
            self._by_script.setdefault(script_hash, {})[txid] = None

    def tx_removed(self, removed: Removed) -> None:
        """Forget them, unless it was evicted before it was told that it came."""
        if removed.entry.txid in self._spent:
            self._forget(removed.entry)

    def confirmed(self, entries: Sequence[MempoolEntry], sequence: int) -> None:
        """Do nothing: they are here until the block is committed."""

    def removed_for_block(self, entries: Sequence[MempoolEntry], height: int) -> None:
        """Forget the scripts of what a block confirmed."""
        for entry in entries:
            self._forget(entry)

    def _forget(self, entry: MempoolEntry) -> None:
        for script_hash in self._script_hashes(entry):
            of_script = self._by_script[script_hash]
            del of_script[entry.txid]
            if not of_script:
                del self._by_script[script_hash]
        del self._spent[entry.txid]

    def _script_hashes(self, entry: MempoolEntry) -> set[bytes]:
        scripts = {output.script_pubkey for output in entry.tx.outputs}
        scripts.update(coin.script_pubkey for coin in self._spent[entry.txid])
        return {sha256(script) for script in scripts}

    def _transfer(self, entry: MempoolEntry, script_hash: bytes) -> PoolTransfer:
        outputs, inputs = entry.tx.outputs, entry.tx.inputs
        made = [
            (number, each.value) for number, each in enumerate(outputs) if sha256(each.script_pubkey) == script_hash
        ]
        spent = [
            (txin.prevout, coin.value)
            for txin, coin in zip(inputs, self._spent[entry.txid], strict=True)
            if sha256(coin.script_pubkey) == script_hash
        ]
        return PoolTransfer(
            txid=entry.txid,
            fee_sat=entry.base_fee_sat,
            has_pool_parents=any(outpoint_txid(txin.prevout) in self._pool.entries for txin in inputs),
            received=sum(value for _, value in made),
            sent=sum(value for _, value in spent),
            made=made,
            spent=[outpoint for outpoint, _ in spent],
        )
