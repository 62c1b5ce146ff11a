"""Scripts as clients see them.

Owns: the shape of answers, and that all of one answer belongs to one block. Never: what is stored, HTTP.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from clarion.node.errors import DecodeError, RpcError
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.address import decode_address
from clarion.node.primitives.ids import hash_from_hex, hash_to_hex, outpoint_index, outpoint_txid
from clarion.node.storage.index_store import IndexSnapshot, IndexTip
from clarion.plugins.bundled.scriptindex import records
from clarion.plugins.bundled.scriptindex.methods import PoolPart, find_in_pool
from clarion.plugins.bundled.scriptindex.records import Account, StoredCoin, Transfer
from clarion.plugins.contexts import ReaderAccess
from clarion.plugins.http import HttpError

DEFAULT_COUNT = 100
MAX_ENTRIES = 1_000
_HASH = re.compile("[0-9a-fA-F]{64}")
_INVALID = -8
_TRIES = 20

Reply = dict[str, Any]


class ScriptView(NamedTuple):
    """All that is known of one script at one block: the index there, and the mempool on top of it, if a node is at hand."""

    script_hash: bytes
    view: IndexSnapshot
    tip: IndexTip
    account: Account | None
    pool: PoolPart | None

    def place(self) -> Reply:
        """Return which script, and at which block."""
        return {
            "scripthash": hash_to_hex(self.script_hash),
            "height": self.tip.height,
            "block_hash": hash_to_hex(self.tip.hash),
        }


def read_script_hash(text: str, params: ChainParams) -> bytes:
    """Return the SHA-256 of a script, named by it (reversed hex, as in Electrum's protocol) or by address.

    Raises RpcError -8.
    """
    try:
        # Some addresses are as long, but none is hexadecimal.
        if _HASH.fullmatch(text):
            return hash_from_hex(text)
        return sha256(decode_address(text, params)).digest()
    except DecodeError as error:
        raise RpcError(_INVALID, f"Neither a script hash of 64 hex digits nor an address: {error}") from None


@contextmanager
def open_script(context: ReaderAccess, text: str) -> Iterator[ScriptView]:
    """Yield a script as of one block. Raises RpcError -8, HttpError 503 while the index is being built."""
    script_hash = read_script_hash(text, context.params)
    for _ in range(_TRIES):
        pool = find_in_pool(context, script_hash)
        synced = context.wait_for_index(records.NAME, records.STORE_NAME)
        with context.index(records.STORE_NAME).snapshot() as view:
            tip = view.tip()
            if not synced or tip is None:
                height = -1 if tip is None else tip.height
                raise HttpError(503, f"scriptindex is still syncing. Current height: {height}")
            # Between the two questions the chain may have moved: a transaction would be in both, or in none.
            if pool is None or pool.tip == tip.hash:
                yield ScriptView(script_hash, view, tip, records.find_account(view, script_hash), pool)
                return
    raise HttpError(503, "blocks come faster than this can be answered, try again")


def summary(script: ScriptView) -> Reply:
    """Return balance, counts and status."""
    return {**balance(script), "status": status(script)}


def balance(script: ScriptView) -> Reply:
    """Return the value of the unspent outputs in blocks, what the mempool adds to it (null: unknown), and counts."""
    account = script.account or Account(b"")
    return {
        **script.place(),
        "confirmed_sat": account.balance,
        "unconfirmed_sat": None if script.pool is None else script.pool.balance,
        "transactions": account.transactions,
        "unspent": account.unspent,
    }


def status(script: ScriptView) -> str | None:
    """Return the hash of Electrum's protocol over the whole history, None for a script without any.

    It reads all of the history.
    """
    digest, empty = sha256(), True
    if script.account is not None:
        for each in records.all_transfers(script.view, script.account.number):
            digest.update(f"{hash_to_hex(each.txid)}:{each.height}:".encode())
            empty = False
    for unconfirmed in script.pool.transfers if script.pool is not None else ():
        digest.update(f"{unconfirmed['txid']}:{unconfirmed['height']}:".encode())
        empty = False
    return None if empty else digest.hexdigest()


def history(script: ScriptView, after: str | None, count: int) -> Reply:
    """Return transactions, oldest first, behind the place `after`; behind the last of a block, those of the mempool.

    Raises RpcError -8.
    """
    _check_count(count)
    height, position = (0, 0) if after is None else _transfer_place(after)
    found: list[Transfer] = []
    if script.account is not None:
        found = records.transfers(script.view, script.account.number, height, position, count + 1)
    entries = [_transfer(each) for each in found[:count]]
    more = len(found) > count
    return {
        **script.place(),
        "entries": entries,
        "next": entries[-1]["place"] if more else None,
        "mempool": [] if more else _pool_transfers(script.pool),
    }


def utxos(script: ScriptView, after: str | None, count: int) -> Reply:
    """Return unspent outputs by height, behind the place `after`; behind the last, those that the mempool makes.

    `spent_by` is the transaction of the mempool that spends an output, null for none. Raises RpcError -8.
    """
    _check_count(count)
    place = b"" if after is None else _coin_place(after)
    found: list[StoredCoin] = []
    if script.account is not None:
        found = records.coins(script.view, script.account.number, place, count + 1)
    more = len(found) > count
    return {
        **script.place(),
        "entries": [_coin(each, script.pool) for each in found[:count]],
        "next": found[count - 1].place.hex() if more else None,
        "mempool": [] if more else _pool_outputs(script.pool),
    }


def _check_count(count: int) -> None:
    if not 0 < count <= MAX_ENTRIES:
        raise RpcError(_INVALID, f"count is from 1 to {MAX_ENTRIES}")


def _transfer_place(text: str) -> tuple[int, int]:
    height, colon, position = text.partition(":")
    if not colon or not all(each.isascii() and each.isdigit() and len(each) < 10 for each in (height, position)):
        raise RpcError(_INVALID, f"after: a place such as 800000:17 expected, not {text!r}")
    return int(height), int(position) + 1


def _coin_place(text: str) -> bytes:
    try:
        place = bytes.fromhex(text)
    except ValueError:
        place = b""
    if len(place) != records.COIN_PLACE_BYTES:
        raise RpcError(_INVALID, f'after: "next" of the page before expected, not {text!r}')
    return place


def _transfer(each: Transfer) -> Reply:
    return {
        "place": f"{each.height}:{each.position}",
        "height": each.height,
        "txid": hash_to_hex(each.txid),
        "received_sat": each.received,
        "sent_sat": each.sent,
    }


def _coin(coin: StoredCoin, pool: PoolPart | None) -> Reply:
    txid, vout = hash_to_hex(outpoint_txid(coin.outpoint)), outpoint_index(coin.outpoint)
    return {
        "txid": txid,
        "vout": vout,
        "value_sat": coin.value,
        "height": coin.height,
        "coinbase": coin.is_coinbase,
        "spent_by": None if pool is None else pool.spent.get((txid, vout)),
    }


def _pool_transfers(pool: PoolPart | None) -> list[Reply] | None:
    return None if pool is None else pool.transfers


def _pool_outputs(pool: PoolPart | None) -> list[Reply] | None:
    if pool is None:
        return None
    return [{"txid": each.txid_hex, "vout": each.vout, "value_sat": each.value} for each in pool.outputs]
