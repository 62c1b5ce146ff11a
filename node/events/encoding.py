"""Events as JSON values: what every transport of the event stream sends.

Owns: names and shapes of the fields (docs/events.md has an example of each). Never: bytes on a wire, filters.
Amounts are integers in satoshis, hashes are in the order in which people write them, scripts and raw data are hex.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clarion.node.errors import DecodeError
from clarion.node.events.cursor import Cursor
from clarion.node.events.events import (
    BlockConnected,
    BlockDisconnected,
    Event,
    MempoolReset,
    TipChanged,
    TxAdded,
    TxConfirmed,
    TxRemoved,
    TxUnconfirmed,
)
from clarion.node.primitives.coin import SpentOutput
from clarion.node.primitives.ids import hash_to_hex, outpoint_index, outpoint_txid
from clarion.node.primitives.transaction import Transaction

EVENT_TYPES: Mapping[str, type[Event]] = {
    "block_connected": BlockConnected,
    "block_disconnected": BlockDisconnected,
    "tip_changed": TipChanged,
    "tx_added": TxAdded,
    "tx_removed": TxRemoved,
    "tx_confirmed": TxConfirmed,
    "tx_unconfirmed": TxUnconfirmed,
    "mempool_reset": MempoolReset,
}
"""Every type of event by the name that clients use."""

TYPE_NAMES: Mapping[type[Event], str] = {type_: name for name, type_ in EVENT_TYPES.items()}

TRANSACTION_EVENTS = (TxAdded, TxConfirmed, TxUnconfirmed)
"""The types that carry a whole transaction."""

DETAILS = frozenset(("fee", "outputs", "raw", "spent"))
"""What a subscriber may ask for on top: fees, outputs, raw transactions and blocks, the outputs that are spent."""

AddressOf = Callable[[bytes], str | None]
"""Returns a script's address, None where it has none."""


def parse_details(names: Sequence[str]) -> frozenset[str]:
    """Return the details that are named. Raises DecodeError for another word."""
    unknown = sorted(set(names) - DETAILS)
    if unknown:
        raise DecodeError(f"no such detail: {unknown[0]!r}; there are {', '.join(sorted(DETAILS))}")
    return frozenset(names)


def parse_types(names: Sequence[str]) -> frozenset[type[Event]]:
    """Return the types that are named. Raises DecodeError for another word."""
    unknown = sorted(set(names) - set(EVENT_TYPES))
    if unknown:
        raise DecodeError(f"no such event type: {unknown[0]!r}; there are {', '.join(EVENT_TYPES)}")
    return frozenset(EVENT_TYPES[name] for name in names)


def needs_spent(event_type: type[Event], details: frozenset[str]) -> bool:
    """Whether `event_json` must be given the spent outputs of an event of this type."""
    return bool(details & {"fee", "spent"}) and event_type in (TxConfirmed, TxUnconfirmed)


def event_json(
    event: Event,
    cursor: Cursor,
    details: frozenset[str] = frozenset(),
    *,
    address_of: AddressOf = lambda script: None,
    spent: Sequence[SpentOutput] | None = None,
) -> dict[str, Any]:
    """Return the event as a JSON value.

    `cursor` is where a subscriber goes on who has handled it. `spent` are the outputs that the transaction spends, in
    the order of its inputs: see `needs_spent`; TxAdded brings its own.
    """
    value: dict[str, Any] = {
        "id": str(event.id),
        "cursor": str(cursor),
        "type": TYPE_NAMES[type(event)],
        "time": event.time,
        "height": event.height,
        "hash": hash_to_hex(event.block_hash),
    }
    if isinstance(event, TRANSACTION_EVENTS):
        _add_transaction(value, event, details, address_of, spent)
    elif isinstance(event, BlockConnected | BlockDisconnected):
        _add_block(value, event, details)
    elif isinstance(event, TipChanged):
        value |= {"fork_hash": hash_to_hex(event.fork_hash), "initial_download": event.initial_download}
    elif isinstance(event, TxRemoved):
        replaced_by = None if event.replaced_by is None else hash_to_hex(event.replaced_by)
        value |= {"txid": hash_to_hex(event.txid), "reason": event.reason, "replaced_by": replaced_by}
        value["mempool_sequence"] = event.mempool_sequence
    elif isinstance(event, MempoolReset):
        value["mempool_sequence"] = event.mempool_sequence
    return value


def _add_block(value: dict[str, Any], event: BlockConnected | BlockDisconnected, details: frozenset[str]) -> None:
    block = event.block
    value |= {
        "prev_hash": hash_to_hex(block.header.prev_hash),
        "block_time": block.header.time,
        "tx_count": len(block.txs),
        "size": len(block.raw),
        "weight": block.weight,
    }
    if "raw" in details:
        value["raw"] = block.raw.hex()


def _add_transaction(
    value: dict[str, Any],
    event: TxAdded | TxConfirmed | TxUnconfirmed,
    details: frozenset[str],
    address_of: AddressOf,
    spent: Sequence[SpentOutput] | None,
) -> None:
    tx = event.tx
    value |= {"txid": hash_to_hex(tx.txid), "wtxid": hash_to_hex(tx.wtxid)}
    if isinstance(event, TxAdded):
        value |= {"vsize": event.vsize, "fee_sat": event.fee_sat, "mempool_sequence": event.mempool_sequence}
        spent = event.spent
    else:
        value |= {"position": event.position, "vsize": tx.vsize}
        if "fee" in details and spent is not None:
            value["fee_sat"] = fee_of(tx, spent)
    if "spent" in details and spent is not None:
        value["spent"] = [] if tx.is_coinbase else _spent_json(tx, spent, address_of)
    if "outputs" in details:
        value["outputs"] = [_output_json(output, address_of) for output in tx.outputs]
    if "raw" in details:
        value["raw"] = tx.raw.hex()


def fee_of(tx: Transaction, spent: Sequence[SpentOutput]) -> int | None:
    """Return the fee in satoshis, None for a coinbase, which pays none."""
    if tx.is_coinbase:
        return None
    return sum(output.value for output in spent) - sum(output.value for output in tx.outputs)


def _spent_json(tx: Transaction, spent: Sequence[SpentOutput], address_of: AddressOf) -> list[dict[str, Any]]:
    return [
        {
            "txid": hash_to_hex(outpoint_txid(each.prevout)),
            "vout": outpoint_index(each.prevout),
            **_output_json(output, address_of),
        }
        for each, output in zip(tx.inputs, spent, strict=True)
    ]


def _output_json(output: SpentOutput, address_of: AddressOf) -> dict[str, Any]:
    return {
        "value_sat": output.value,
        "script_pubkey": output.script_pubkey.hex(),
        "address": address_of(output.script_pubkey),
    }
