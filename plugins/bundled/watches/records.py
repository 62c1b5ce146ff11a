"""What is stored of watches beside the ledger: the watches themselves and their scripts.

Owns: keys and values that begin with `k`, which outlive a reindex, and `g`, what is to be cleared away. Never: blocks.

    kc              the number that the next watch or account gets
    kn + name       the watch's number
    kw + number     a `WatchRecord`
    ks + script     who watches it: number of the watch, of its descriptor (or NO_RANGE), index in that
    gd + account    an account of the ledger that nobody uses any more
    gs + number     a watch that is gone, whose scripts are looked for from the key on that is the value
"""

import struct
from typing import NamedTuple

import msgspec

from clarion.node.chain.indexes.index import IndexBatch
from clarion.node.errors import RpcError
from clarion.plugins.ledger import LedgerView

KEPT_PREFIX = b"k"
NAMES, WATCHES, SCRIPTS = b"kn", b"kw", b"ks"
SCRIPTS_END, _WATCHES_END = b"kt", b"kx"
UNUSED_ACCOUNTS, LOST_SCRIPTS = b"gd", b"gs"
NO_RANGE = 0xFFFF
MAX_SCRIPT_BYTES = 250
"""Longer scripts are no standard outputs, and a database's keys have limits."""

UNKNOWN_WATCH, INVALID = -5, -8
"""Codes of errors, as the reference uses them."""

_OWNER = struct.Struct(">IHI")
_COUNTER = b"kc"


class StoredRange(msgspec.Struct):
    """A descriptor of a watch, from index `first` to `last`, which grows where `gap` is above 0."""

    desc: str
    first: int
    last: int
    gap: int


class WatchRecord(msgspec.Struct):
    """A watch. It has counted the blocks from `start` to below `next`; None: to the index's own place.

    `account` is its account in the ledger; `problem` says why it does not go on.
    """

    number: int
    name: str
    account: int
    start: int
    next: int | None
    created: int
    scripts: int = 0
    ranges: list[StoredRange] = []
    problem: str = ""


class Owner(NamedTuple):
    """Who watches a script: a watch, and where it has the script from."""

    watch: int
    descriptor: int
    at: int


def new_number(batch: IndexBatch) -> int:
    """Return a number that no watch and no account has had."""
    number = int.from_bytes(batch.get(_COUNTER) or b"", "big") + 1
    batch.put(_COUNTER, number.to_bytes(4, "big"))
    return number


def put_record(batch: IndexBatch, record: WatchRecord) -> None:
    """Store a watch."""
    batch.put(WATCHES + record.number.to_bytes(4, "big"), msgspec.msgpack.encode(record))


def get_record(view: LedgerView, number: int) -> WatchRecord | None:
    """Return a watch, None if it is gone."""
    value = view.get(WATCHES + number.to_bytes(4, "big"))
    return None if value is None else _decode(value)


def find_record(view: LedgerView, name: str) -> WatchRecord:
    """Return the watch with a name. Raises RpcError -5."""
    number = view.get(NAMES + name.encode())
    record = None if number is None else get_record(view, int.from_bytes(number, "big"))
    if record is None:
        raise RpcError(UNKNOWN_WATCH, f"There is no watch '{name}'")
    return record


def all_records(view: LedgerView) -> list[WatchRecord]:
    """Return every watch, in the order in which they were made."""
    found: list[WatchRecord] = []
    start, page = WATCHES, 1000
    while items := view.range(start, _WATCHES_END, page):
        found += [_decode(value) for _, value in items]
        start = items[-1][0] + b"\0"
        if len(items) < page:
            break
    return found


def owners(value: bytes | None) -> list[Owner]:
    """Return who watches a script, of what is stored under it."""
    return [Owner(*each) for each in _OWNER.iter_unpack(value or b"")]


def encode_owners(found: list[Owner]) -> bytes:
    """Return what is stored under a script."""
    return b"".join(_OWNER.pack(*each) for each in found)


def _decode(value: bytes) -> WatchRecord:
    return msgspec.msgpack.decode(value, type=WatchRecord)
