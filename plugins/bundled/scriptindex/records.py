"""What is stored of scripts.

Owns: keys and values. Never: which blocks are counted, clients' formats.

    n                           the number that the next script gets
    s + SHA-256 of the script   a script's `Account`
    h + number + place          one transaction of a script: txid (32 bytes, internal order), received, sent (8 bytes each)
    u + number + coin's place   the value of one of its unspent outputs (8 bytes)

A script's number has 5 bytes, so keys of one script lie together and those of new scripts at the end. A transaction's
place is height and position in the block, a coin's is 2 * height + (1 for a coinbase), its txid and its number: 4 bytes
each beside the txid. All numbers are big-endian.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from clarion.node.primitives.ids import OutPoint, Txid, make_outpoint, outpoint_index

NAME = STORE_NAME = "scriptindex"
COUNTER, ACCOUNTS, HISTORY, COINS = b"n", b"s", b"h", b"u"
NUMBER_BYTES = 5

_ACCOUNT = struct.Struct(">5sQII")
_PLACE = struct.Struct(">II")
_TRANSFER = struct.Struct(">32sQQ")
_COIN = struct.Struct(">I32sI")
_SUM = struct.Struct(">Q")
COIN_PLACE_BYTES = _COIN.size
_PAGE = 10_000


class RecordView(Protocol):
    """What reading needs: a batch, or a snapshot of an index."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key."""
        ...

    def range(self, start: bytes, stop: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Return at most `limit` keys from `start` on and below `stop` with their values, by key."""
        ...


class Account(NamedTuple):
    """A script by its number (5 bytes): value (satoshis) and count of its unspent outputs, count of its transactions."""

    number: bytes
    balance: int = 0
    unspent: int = 0
    transactions: int = 0

    def serialize(self) -> bytes:
        """Return the stored form."""
        return _ACCOUNT.pack(*self)

    @classmethod
    def parse(cls, data: bytes) -> "Account":
        """Return what `serialize` wrote."""
        return cls(*_ACCOUNT.unpack(data))


class Transfer(NamedTuple):
    """A transaction of a script, at its place in the chain. Amounts in satoshis."""

    height: int
    position: int
    txid: Txid
    received: int
    sent: int


class StoredCoin(NamedTuple):
    """An unspent output of a script. `place` is where the next page begins behind it."""

    place: bytes
    height: int
    is_coinbase: bool
    outpoint: OutPoint
    value: int


def script_number(number: int) -> bytes:
    """Return a script's number as it is stored."""
    return number.to_bytes(NUMBER_BYTES, "big")


def transfer_key(number: bytes, height: int, position: int) -> bytes:
    """Return the key of a script's transaction."""
    return HISTORY + number + _PLACE.pack(height, position)


def transfer_value(txid: bytes, received: int, sent: int) -> bytes:
    """Return what is stored under a `transfer_key`."""
    return _TRANSFER.pack(txid, received, sent)


def coin_key(number: bytes, code: int, outpoint: OutPoint) -> bytes:
    """Return the key of an unspent output; `code` is 2 * height + (1 for a coinbase)."""
    return COINS + number + _COIN.pack(code, outpoint[:32], outpoint_index(outpoint))


def coin_value(value: int) -> bytes:
    """Return what is stored under a `coin_key`."""
    return _SUM.pack(value)


def find_account(view: RecordView, script_hash: bytes) -> Account | None:
    """Return the account of the script with this SHA-256, None if no block has it."""
    stored = view.get(ACCOUNTS + script_hash)
    return None if stored is None else Account.parse(stored)


def transfers(view: RecordView, number: bytes, height: int, position: int, limit: int) -> list[Transfer]:
    """Return at most `limit` transactions of a script from a place on, in the order of the chain."""
    begin, end = transfer_key(number, height, position), HISTORY + number + b"\xff" * (_PLACE.size + 1)
    found = view.range(begin, end, limit)
    return [Transfer(*_PLACE.unpack(key[-_PLACE.size :]), *_TRANSFER.unpack(value)) for key, value in found]


def all_transfers(view: RecordView, number: bytes) -> Iterator[Transfer]:
    """Yield every transaction of a script, in the order of the chain."""
    height = position = 0
    while found := transfers(view, number, height, position, _PAGE):
        yield from found
        height, position = found[-1].height, found[-1].position + 1


def coins(view: RecordView, number: bytes, after: bytes, limit: int) -> list[StoredCoin]:
    """Return at most `limit` unspent outputs of a script behind the place `after` (empty: from the first), by height."""
    begin = COINS + number + after + (b"\0" if after else b"")
    found = view.range(begin, COINS + number + b"\xff" * (COIN_PLACE_BYTES + 1), limit)
    return [_coin(key[-COIN_PLACE_BYTES:], value) for key, value in found]


def _coin(place: bytes, stored: bytes) -> StoredCoin:
    code, txid, index = _COIN.unpack(place)
    return StoredCoin(place, code >> 1, bool(code & 1), make_outpoint(txid, index), _SUM.unpack(stored)[0])
