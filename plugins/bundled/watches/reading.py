"""Watches as clients see them.

Owns: the shape of answers. Never: waiting for the index, which is the caller's business.
"""

from typing import Any

from clarion.node.errors import RpcError
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.storage.index_store import IndexSnapshot
from clarion.plugins import ledger
from clarion.plugins.bundled.watches.records import INVALID, WatchRecord, all_records, find_record

MAX_ENTRIES = 1_000


def list_watches(view: IndexSnapshot) -> list[dict[str, Any]]:
    """Return all watches with their balances, in the order in which they were made."""
    return [_summary(view, record) for record in all_records(view)]


def watch(view: IndexSnapshot, name: str) -> dict[str, Any]:
    """Return one watch with its balance. Raises RpcError -5."""
    return _summary(view, find_record(view, name))


def history(view: IndexSnapshot, name: str, after: str | None, count: int) -> dict[str, Any]:
    """Return transactions of a watch, oldest first, behind the place `after`, and the place to go on from.

    Raises RpcError -5, -8.
    """
    record = find_record(view, name)
    if not 0 < count <= MAX_ENTRIES:
        raise RpcError(INVALID, f"count is from 1 to {MAX_ENTRIES}")
    height, position = (0, 0) if after is None else _place_behind(after)
    found = ledger.history(view, record.account, height, position, count + 1)
    entries = [_entry(each) for each in found[:count]]
    return {"entries": entries, "next": entries[-1]["place"] if len(found) > count else None, **_reached(view, record)}


def _place_behind(text: str) -> tuple[int, int]:
    height, colon, position = text.partition(":")
    if not colon or not all(each.isascii() and each.isdigit() and len(each) < 10 for each in (height, position)):
        raise RpcError(INVALID, f"after: a place such as 800000:17 expected, not {text!r}")
    return int(height), int(position) + 1


def _entry(entry: ledger.Entry) -> dict[str, Any]:
    return {
        "place": f"{entry.height}:{entry.position}",
        "height": entry.height,
        "block_hash": hash_to_hex(entry.block_hash),
        "txid": hash_to_hex(entry.txid),
        "received_sat": entry.received,
        "sent_sat": entry.sent,
    }


def _summary(view: IndexSnapshot, record: WatchRecord) -> dict[str, Any]:
    balance = ledger.balance(view, record.account)
    return {
        "name": record.name,
        "created": record.created,
        "scripts": record.scripts,
        "descriptors": [
            {"desc": each.desc, "range": [each.first, each.last], "gap": each.gap} for each in record.ranges
        ],
        "start": record.start,
        "balance_sat": balance.value,
        "received_sat": balance.received,
        "sent_sat": balance.sent,
        "transactions": balance.transactions,
        **_reached(view, record),
    }


def _reached(view: IndexSnapshot, record: WatchRecord) -> dict[str, Any]:
    """Return up to which block a watch has counted; with the block's hash where it has caught up with the index."""
    tip = view.tip()
    found: dict[str, Any] = {"height": -1 if tip is None else tip.height, "caught_up": record.next is None}
    if record.next is not None:
        found["height"] = record.next - 1
    elif tip is not None:
        found["block_hash"] = hash_to_hex(tip.hash)
    if record.problem:
        found["problem"] = record.problem
    return found
