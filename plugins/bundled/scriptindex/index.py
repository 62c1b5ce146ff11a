"""The index of scripts: what each block moves for each script that it pays or spends.

Owns: counting a block and taking it back. Never: keys and values (`records`), clients' formats.
Genesis makes no coin and is left out, and so is a coinbase that another one overwrites (BIP30). An output that can never
be spent shows in its script's history alone.
"""

from collections.abc import Iterable

from clarion.node.chain.indexes.index import IndexBatch, IndexedBlock, IndexPlace
from clarion.node.consensus.bip30 import is_bip30_unspendable
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.hashes import sha256
from clarion.node.primitives.ids import OutPoint, make_outpoint
from clarion.node.primitives.script import is_unspendable
from clarion.plugins.bundled.scriptindex import records
from clarion.plugins.bundled.scriptindex.records import Account


class Moves:
    """What a block does with one script: coins made and spent, each as (2 * height + coinbase, outpoint, value)."""

    __slots__ = ("made", "spent", "transfers")

    def __init__(self) -> None:
        self.made: list[tuple[int, OutPoint, int]] = []
        self.spent: list[tuple[int, OutPoint, int]] = []
        self.transfers: dict[int, list[int]] = {}
        """What was received and sent, by the transaction's position in the block."""

    def transfer(self, position: int) -> list[int]:
        """Return the sums of a transaction, to be changed."""
        found = self.transfers.get(position)
        if found is None:
            found = self.transfers[position] = [0, 0]
        return found

    @property
    def balance(self) -> int:
        """What the block adds to the balance, below 0 for what it takes."""
        return sum(value for _, _, value in self.made) - sum(value for _, _, value in self.spent)


class ScriptIndex:
    """The index. It follows the tip at once, also where a block was only disconnected (a `WorkingIndex` without work)."""

    name = records.NAME
    store_name = records.STORE_NAME
    needs_spent = True
    kept_prefix = b""
    is_idle = False
    patience_s = 0.25
    lowest_needed: int | None = None

    def begin(self, batch: IndexBatch, params: ChainParams) -> None:
        """Do nothing: all that there is to know is stored."""

    def restart(self, batch: IndexBatch) -> None:
        """Do nothing: an empty index is ready for the first block."""

    def work(self, batch: IndexBatch, place: IndexPlace) -> bool:
        """Do nothing between two blocks."""
        return False

    def connect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Add what a block does."""
        moved = _moves(block)
        accounts = _open_accounts(batch, moved)
        for script_hash, moves in moved.items():
            before = accounts[script_hash]
            number = before.number
            for code, outpoint, value in moves.made:
                batch.put(records.coin_key(number, code, outpoint), records.coin_value(value))
            # Behind what was made: a coin may come and go in one block.
            for code, outpoint, _ in moves.spent:
                batch.delete(records.coin_key(number, code, outpoint))
            for position, (received, sent) in moves.transfers.items():
                transfer = records.transfer_value(block.block.txs[position].txid, received, sent)
                batch.put(records.transfer_key(number, block.height, position), transfer)
            after = Account(
                number,
                before.balance + moves.balance,
                before.unspent + len(moves.made) - len(moves.spent),
                before.transactions + len(moves.transfers),
            )
            batch.put(records.ACCOUNTS + script_hash, after.serialize())

    def disconnect(self, block: IndexedBlock, batch: IndexBatch) -> None:
        """Take back what a block did."""
        moved = _moves(block)
        stored = batch.get_many([records.ACCOUNTS + script_hash for script_hash in moved])
        for script_hash, moves in moved.items():
            before = Account.parse(stored[records.ACCOUNTS + script_hash])
            number = before.number
            for code, outpoint, value in moves.spent:
                batch.put(records.coin_key(number, code, outpoint), records.coin_value(value))
            for code, outpoint, _ in moves.made:
                batch.delete(records.coin_key(number, code, outpoint))
            for position in moves.transfers:
                batch.delete(records.transfer_key(number, block.height, position))
            after = Account(
                number,
                before.balance - moves.balance,
                before.unspent - len(moves.made) + len(moves.spent),
                before.transactions - len(moves.transfers),
            )
            if after.transactions:
                batch.put(records.ACCOUNTS + script_hash, after.serialize())
            else:
                batch.delete(records.ACCOUNTS + script_hash)


def _open_accounts(batch: IndexBatch, script_hashes: Iterable[bytes]) -> dict[bytes, Account]:
    """Return the accounts of scripts, new ones with new numbers."""
    wanted = list(script_hashes)
    stored = batch.get_many([records.ACCOUNTS + script_hash for script_hash in wanted])
    first = following = int.from_bytes(batch.get(records.COUNTER) or b"", "big")
    accounts: dict[bytes, Account] = {}
    for script_hash in wanted:
        found = stored.get(records.ACCOUNTS + script_hash)
        if found is None:
            accounts[script_hash] = Account(records.script_number(following))
            following += 1
        else:
            accounts[script_hash] = Account.parse(found)
    if following != first:
        batch.put(records.COUNTER, records.script_number(following))
    return accounts


def _moves(block: IndexedBlock) -> dict[bytes, Moves]:
    """Return what a block does, by the SHA-256 of each script, in the order in which the scripts come."""
    if not block.height:
        return {}
    by_script: dict[bytes, Moves] = {}

    def moves_of(script: bytes) -> Moves:
        found = by_script.get(script)
        if found is None:
            found = by_script[script] = Moves()
        return found

    skipped = is_bip30_unspendable(block.height, block.block.hash)
    for position, tx in enumerate(block.block.txs):
        if position:
            for txin, coin in zip(tx.inputs, block.spent[position - 1], strict=True):
                moves = moves_of(coin.script_pubkey)
                moves.spent.append((coin.code, txin.prevout, coin.value))
                moves.transfer(position)[1] += coin.value
        elif skipped:
            continue
        code, txid = 2 * block.height + (position == 0), tx.txid
        for number, output in enumerate(tx.outputs):
            script = output.script_pubkey
            moves = moves_of(script)
            moves.transfer(position)[0] += output.value
            if not is_unspendable(script):
                moves.made.append((code, make_outpoint(txid, number), output.value))
    return {sha256(script): moves for script, moves in by_script.items()}
