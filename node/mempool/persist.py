"""`mempool.dat`: the pool between two runs of the node, in the reference's format.

Owns: both versions of the file, reading and writing. Never: whether what it holds may come in again.
Version 2 is XORed with a key of its own, so that no virus scanner finds what others put into transactions.
"""

import logging
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from clarion.node.errors import DecodeError
from clarion.node.mempool.pool import Mempool
from clarion.node.primitives.codec import compact_size, read_compact_size, var_bytes
from clarion.node.primitives.ids import Txid
from clarion.node.primitives.transaction import Transaction, parse_transaction
from clarion.node.storage.xor_key import KEY_SIZE, apply_xor

VERSION_PLAIN = 1
VERSION = 2

_U64 = struct.Struct("<Q")
_TIME_AND_DELTA = struct.Struct("<qq")
_TXID_AND_DELTA = struct.Struct("<32sq")

MAX_TX_BYTES = 4_000_000
_READ_BYTES = 16_000_000
_WRITE_BYTES = 1_000_000

logger = logging.getLogger(__name__)


class StoredPoolTarget(Protocol):
    """What takes in a stored pool: the service of the pool."""

    pool: Mempool

    def accept_stored(self, tx: Transaction, time: int) -> bool:
        """Offer a transaction with the time at which it came; say whether it was taken in."""
        ...

    def prioritise(self, txid: Txid, delta_sat: int) -> None:
        """Add to the fee that a transaction counts with."""
        ...

    def add_unbroadcast(self, txids: Sequence[Txid]) -> None:
        """Note that peers must hear of those of these transactions that are in the pool."""
        ...


class StoredTransaction(NamedTuple):
    """A transaction with the time at which it came (Unix seconds) and its fee delta in satoshis."""

    tx: Transaction
    time: int
    delta_sat: int


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What is taken over from a file beside the transactions. The defaults are those of the node's own file."""

    use_current_time: bool = False
    apply_fee_delta_priority: bool = True
    apply_unbroadcast_set: bool = True


# --- writing ------------------------------------------------------------------------------------------------------------


def dump_mempool(pool: Mempool, path: Path) -> bool:
    """Store the pool; False if that fails, which the log explains. The file that was there is replaced at once."""
    started = time.perf_counter()
    with pool.lock:
        txs = [
            StoredTransaction(entry.tx, entry.time, entry.modified_fee_sat - entry.base_fee_sat)
            for entry in pool.sorted_entries()
        ]
        deltas = {txid: delta for txid, delta in pool.deltas.items() if txid not in pool}
        unbroadcast = sorted(pool.unbroadcast)
    copied = time.perf_counter()
    key = None if pool.options.persist_v1 else os.urandom(KEY_SIZE)
    beside = path.with_name(path.name + ".new")
    logger.info("Writing %d mempool transactions to file...", len(txs))
    logger.info("Writing %d unbroadcast transactions to file.", len(unbroadcast))
    try:
        with beside.open("wb") as file:
            _write(file, _encode(txs, deltas, unbroadcast), key)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        size = path.stat().st_size
    except OSError as error:
        logger.info("Failed to dump mempool: %s. Continuing anyway.", error)
        return False
    logger.info(
        "Dumped mempool: %.3fs to copy, %.3fs to dump, %d bytes dumped to file",
        copied - started,
        time.perf_counter() - copied,
        size,
    )
    return True


def _encode(
    txs: Sequence[StoredTransaction], deltas: Mapping[Txid, int], unbroadcast: Sequence[Txid]
) -> Iterator[bytes]:
    yield _U64.pack(len(txs))
    for tx, arrival, delta in txs:
        yield tx.raw
        yield _TIME_AND_DELTA.pack(arrival, delta)
    yield compact_size(len(deltas))
    for txid in sorted(deltas):
        yield _TXID_AND_DELTA.pack(txid, deltas[txid])
    yield compact_size(len(unbroadcast))
    yield from unbroadcast


def _write(file: BinaryIO, parts: Iterable[bytes], key: bytes | None) -> None:
    head = _U64.pack(VERSION_PLAIN) if key is None else _U64.pack(VERSION) + var_bytes(key)
    file.write(head)
    at, pending, size = len(head), [], 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _WRITE_BYTES:
            file.write(apply_xor(b"".join(pending), key, at))
            at, pending, size = at + size, [], 0
    file.write(apply_xor(b"".join(pending), key, at))


# --- reading ------------------------------------------------------------------------------------------------------------


class MempoolReader:
    """Reads a stored pool from front to back: transactions, then fee deltas, then the unbroadcast set."""

    def __init__(self, file: BinaryIO) -> None:
        """Raises DecodeError if the file is of no version that is known."""
        self._file = file
        self._key: bytes | None = None
        self._data = b""
        self._at = 0
        version = self._u64()
        if version == VERSION:
            self._key = self._var_bytes()
            if len(self._key) != KEY_SIZE:
                raise DecodeError(f"Obfuscation key size should be exactly {KEY_SIZE} bytes long")
            self._data = self._data[: self._at] + apply_xor(self._data[self._at :], self._key, self._at)
        elif version != VERSION_PLAIN:
            raise DecodeError(f"version {version} is not known")
        self.tx_count = self._u64()

    def transactions(self) -> Iterator[StoredTransaction]:
        """Yield the `tx_count` transactions. Raises DecodeError, for instance where the file is cut off."""
        for _ in range(self.tx_count):
            self._fill(MAX_TX_BYTES)
            tx, self._at = parse_transaction(self._data, self._at)
            yield StoredTransaction(tx, *_TIME_AND_DELTA.unpack(self._take(_TIME_AND_DELTA.size)))

    def deltas(self) -> dict[Txid, int]:
        """Return the fee deltas of transactions that were not in the pool. Raises DecodeError."""
        rows = (_TXID_AND_DELTA.unpack(self._take(_TXID_AND_DELTA.size)) for _ in range(self._size()))
        return {Txid(txid): delta for txid, delta in rows}

    def unbroadcast(self) -> list[Txid]:
        """Return the transactions that no peer had asked for. Raises DecodeError."""
        return [Txid(self._take(32)) for _ in range(self._size())]

    def _fill(self, size: int) -> None:
        """Have `size` bytes at hand, or all that are left."""
        if len(self._data) - self._at >= size:
            return
        # The window moves by whole keys, so that positions in it and in the file agree about the key.
        drop = self._at // KEY_SIZE * KEY_SIZE
        kept = self._data[drop:]
        more = self._file.read(size + _READ_BYTES)
        self._data = kept + apply_xor(more, self._key, len(kept))
        self._at -= drop

    def _take(self, size: int) -> bytes:
        self._fill(size)
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise DecodeError("AutoFile::read: end of file")
        self._at += size
        return taken

    def _u64(self) -> int:
        value: int = _U64.unpack(self._take(8))[0]
        return value

    def _size(self) -> int:
        self._fill(9)
        value, self._at = read_compact_size(self._data, self._at)
        return value

    def _var_bytes(self) -> bytes:
        return self._take(self._size())


def load_mempool(
    service: StoredPoolTarget, path: Path, options: ImportOptions, interrupted: Callable[[], bool]
) -> bool:
    """Offer what a file holds to the pool. False if it can't be read to its end, which the log explains, or interrupted.

    What stands before a fault is taken in.
    """
    try:
        file = path.open("rb")
    except OSError:
        logger.info("Failed to open mempool file. Continuing anyway.")
        return False
    with file:
        try:
            return _Import(service, options, interrupted).run(MempoolReader(file))
        except (DecodeError, OSError) as error:
            logger.info("Failed to deserialize mempool data on file: %s. Continuing anyway.", error)
            return False


class _Import:
    """One import under way, with its counts."""

    def __init__(self, service: StoredPoolTarget, options: ImportOptions, interrupted: Callable[[], bool]) -> None:
        self._service = service
        self._options = options
        self._interrupted = interrupted
        self._now = service.pool.clock.now()
        self._counts = dict.fromkeys(("succeeded", "failed", "expired", "already there"), 0)

    def run(self, reader: MempoolReader) -> bool:
        """Import all; False if interrupted. Raises DecodeError."""
        total = reader.tx_count
        logger.info("Loading %d mempool transactions from file...", total)
        tenth = 0
        for tried, stored in enumerate(reader.transactions()):
            percent = tried * 100 // total
            if tenth < percent // 10:
                tenth = percent // 10
                logger.info(
                    "Progress loading mempool transactions from file: %d%% (tried %d, %d remaining)",
                    percent,
                    tried,
                    total - tried,
                )
            self._counts[self._offer(stored)] += 1
            if self._interrupted():
                return False
        deltas, unbroadcast = reader.deltas(), reader.unbroadcast()
        if self._options.apply_fee_delta_priority:
            for txid, delta in deltas.items():
                self._service.prioritise(txid, delta)
        waiting = unbroadcast if self._options.apply_unbroadcast_set else []
        self._service.add_unbroadcast(waiting)
        logger.info(
            "Imported mempool transactions from file: %s, %d waiting for initial broadcast",
            ", ".join(f"{count} {name}" for name, count in self._counts.items()),
            len(waiting),
        )
        return True

    def _offer(self, stored: StoredTransaction) -> str:
        pool = self._service.pool
        arrival = self._now if self._options.use_current_time else stored.time
        if stored.delta_sat and self._options.apply_fee_delta_priority:
            self._service.prioritise(stored.tx.txid, stored.delta_sat)
        if arrival <= self._now - pool.options.expiry_s:
            return "expired"
        if self._service.accept_stored(stored.tx, arrival):
            return "succeeded"
        with pool.lock:
            return "already there" if stored.tx.txid in pool else "failed"
