"""A ledger of transfers by account, kept in an index's database: balances, histories, and what each block did.

Owns: the keys `b`, `h` and `d` of a database, and taking a block back. Never: which transfers a block makes: that is
the index's business. Whoever tracks transfers of anything (watched scripts, tokens, inscriptions) can be built on it:
`record` what a block moves in `connect`, call `undo` in `disconnect`, read with `balance` and `history`.

    b + account                         received, sent, number of transactions: 8 bytes each, big-endian
    h + account + height + position     block hash, txid (32 bytes each, internal order), received, sent (8 bytes each)
    d + height                          account + position of every entry that a block at this height has made

A block is taken back by what it did when it was connected, never by looking at it again: whatever has been learnt
since, no transfer is taken back that was not counted. Accounts, heights and positions are 4 bytes, big-endian.
"""

import struct
from typing import NamedTuple, Protocol

from clarion.node.chain.indexes.index import IndexBatch

_BALANCE = struct.Struct(">QQQ")
_ENTRY = struct.Struct(">32s32sQQ")
_ACCOUNT_BYTES = _PLACE_BYTES = 4
_MADE_BYTES = _ACCOUNT_BYTES + _PLACE_BYTES


class LedgerView(Protocol):
    """What reading needs: a batch, or a snapshot of an index."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        ...

    def range(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` keys from `start` on and below `stop` with their values, by key."""
        ...


class Balance(NamedTuple):
    """Sums of an account, in satoshis (or whatever is counted), and the number of its transactions."""

    received: int = 0
    sent: int = 0
    transactions: int = 0

    @property
    def value(self) -> int:
        """What is left. Below 0 where the ledger began after the account did."""
        return self.received - self.sent


class Entry(NamedTuple):
    """One transaction of an account. Hashes in internal order."""

    height: int
    position: int
    block_hash: bytes
    txid: bytes
    received: int
    sent: int


def record(batch: IndexBatch, account: int, entry: Entry) -> None:
    """Add a transaction to an account; each only once, with all that it moves."""
    place = _number(entry.height) + _number(entry.position)
    batch.put(b"h" + _number(account) + place, _ENTRY.pack(entry.block_hash, entry.txid, entry.received, entry.sent))
    before = balance(batch, account)
    _set_balance(batch, account, before.received + entry.received, before.sent + entry.sent, before.transactions + 1)
    made = b"d" + _number(entry.height)
    batch.put(made, (batch.get(made) or b"") + _number(account) + _number(entry.position))


def undo(batch: IndexBatch, height: int) -> None:
    """Take back all that the block at this height has done."""
    made = batch.get(b"d" + _number(height)) or b""
    for at in range(0, len(made), _MADE_BYTES):
        account, position = made[at : at + _ACCOUNT_BYTES], made[at + _ACCOUNT_BYTES : at + _MADE_BYTES]
        key = b"h" + account + _number(height) + position
        value = batch.get(key)
        if value is None:
            continue  # of an account that was forgotten
        _, _, received, sent = _ENTRY.unpack(value)
        batch.delete(key)
        number = int.from_bytes(account, "big")
        before = balance(batch, number)
        _set_balance(batch, number, before.received - received, before.sent - sent, before.transactions - 1)
    batch.delete(b"d" + _number(height))


def forget(batch: IndexBatch, account: int, limit: int) -> bool:
    """Delete at most `limit` entries of an account that nobody uses any more; whether there are more."""
    start = b"h" + _number(account)
    found = batch.range(start, b"h" + _number(account + 1), limit)
    for key, _ in found:
        batch.delete(key)
    batch.delete(b"b" + _number(account))
    return len(found) == limit


def balance(view: LedgerView, account: int) -> Balance:
    """Return an account's sums."""
    value = view.get(b"b" + _number(account))
    return Balance() if value is None else Balance(*_BALANCE.unpack(value))


def history(view: LedgerView, account: int, height: int, position: int, limit: int) -> list[Entry]:
    """Return at most `limit` transactions of an account from a place in the chain on, oldest first."""
    start = b"h" + _number(account) + _number(height) + _number(position)
    found = view.range(start, b"h" + _number(account + 1), limit)
    return [_entry(key, value) for key, value in found]


def _entry(key: bytes, value: bytes) -> Entry:
    block_hash, txid, received, sent = _ENTRY.unpack(value)
    at = 1 + _ACCOUNT_BYTES
    height, position = (int.from_bytes(key[start : start + 4], "big") for start in (at, at + _PLACE_BYTES))
    return Entry(height, position, block_hash, txid, received, sent)


def _set_balance(batch: IndexBatch, account: int, received: int, sent: int, transactions: int) -> None:
    batch.put(b"b" + _number(account), _BALANCE.pack(received, sent, transactions))


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")
