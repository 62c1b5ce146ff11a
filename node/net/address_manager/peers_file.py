"""peers.dat: the remembered addresses over a restart.

Owns: its form, which is the reference's. Never: what is done with the addresses.
Source: Bitcoin Core's src/addrman.cpp (Serialize, Unserialize), src/addrdb.cpp.
"""

import logging
import struct
from collections.abc import Callable
from pathlib import Path

from clarion.node.errors import ConfigError, DecodeError, EndOfData
from clarion.node.net.address_manager.consistency import fault_of
from clarion.node.net.address_manager.entry import AddressEntry
from clarion.node.net.address_manager.placement import BUCKET_SIZE, NEW_BUCKETS, TRIED_BUCKETS, Placement
from clarion.node.net.address_manager.stored_address import (
    CheckedFile,
    address_bytes,
    read_address,
    read_plain,
    write_checked,
)
from clarion.node.net.address_manager.tables import BUCKETS_PER_ADDRESS, AddressTables
from clarion.node.net.reader import Reader
from clarion.node.primitives.ids import NULL_HASH

_FORMAT = 4
_FIRST_V2_FORMAT = 3
_INCOMPATIBILITY_BASE = 32
_BUCKETS_MARK = 1 << 30
"""Keeps software that does not know the format's number from reading on."""
_COUNTS = struct.Struct("<iii")
_I32 = struct.Struct("<i")
_TRY = struct.Struct("<qi")

logger = logging.getLogger("clarion.addrman")


class NewerFormat(Exception):
    """The file was written by a version whose format we don't know."""


def save_peers(tables: AddressTables, path: Path, magic: bytes) -> None:
    """Write the file. What can't be written is only logged."""
    try:
        write_checked(path, magic, serialize(tables))
    except OSError as error:
        logger.error("Failed to write file %s: %s", path, error.strerror)


def load_peers(path: Path, magic: bytes, make: Callable[[], AddressTables]) -> AddressTables:
    """Return the tables of a file; `make` returns empty ones. Raises ConfigError for a file that is broken."""
    try:
        file = CheckedFile(path.read_bytes(), magic)
        tables = make()
        deserialize(tables, file.reader)
        file.check()
    except FileNotFoundError:
        logger.info('Creating peers.dat because the file was not found ("%s")', path)
    except NewerFormat:
        path.replace(f"{path}.bak")
        logger.warning(
            'Creating new peers.dat because the file version was not compatible ("%s"). '
            "Original backed up to peers.dat.bak",
            path,
        )
    except DecodeError as error:
        reason = _failure("AutoFile::read: end of file") if isinstance(error, EndOfData) else error
        raise ConfigError(
            f"Invalid or corrupt peers.dat ({reason}). If you believe this is a bug, please report it to the project. "
            f'As a workaround, you can move the file ("{path}") out of the way (rename, move, or delete) to have a new '
            "one created on the next start."
        ) from None
    else:
        logger.info("Loaded %d addresses from peers.dat", len(tables.order))
        return tables
    tables = make()
    save_peers(tables, path, magic)
    return tables


# --- writing ----------------------------------------------------------------------------------------------------------


def serialize(tables: AddressTables) -> bytes:
    """Return the contents between the magic bytes and the hash."""
    head = bytes((_FORMAT, _INCOMPATIBILITY_BASE + _FORMAT)) + tables.placement.key
    parts = [head + _COUNTS.pack(tables.new_count, tables.tried_count, NEW_BUCKETS ^ _BUCKETS_MARK)]
    new = [(number, entry) for number, entry in tables.entries.items() if entry.references]
    parts += [_entry_bytes(entry) for _, entry in new]
    parts += [_entry_bytes(entry) for entry in tables.entries.values() if entry.is_tried]
    index = {number: at for at, (number, _) in enumerate(new)}
    for places in tables.new:
        numbers = [index[number] for _, number in sorted(places.items())]
        parts.append(struct.pack(f"<i{len(numbers)}i", len(numbers), *numbers))
    return b"".join(parts) + tables.placement.groups.version


def _entry_bytes(entry: AddressEntry) -> bytes:
    return address_bytes(entry.shown()) + entry.source.to_v2() + _TRY.pack(entry.last_success, entry.attempts)


# --- reading ----------------------------------------------------------------------------------------------------------


def deserialize(tables: AddressTables, reader: Reader) -> None:
    """Fill empty tables. Raises NewerFormat, and DecodeError for contents that can't be right."""
    format_number, compatible = reader.unsigned(1), reader.unsigned(1)
    if compatible < _INCOMPATIBILITY_BASE:
        raise _failure(
            f"Corrupted addrman database: The compat value ({compatible}) is lower than the expected minimum value "
            f"{_INCOMPATIBILITY_BASE}."
        )
    if compatible - _INCOMPATIBILITY_BASE > _FORMAT:
        raise NewerFormat
    tables.placement = Placement(reader.take(32), tables.placement.groups)
    new_count, tried_count, buckets = _COUNTS.unpack(reader.take(_COUNTS.size))
    if format_number >= 1:
        buckets ^= _BUCKETS_MARK
    _check_count("nNew", new_count, NEW_BUCKETS * BUCKET_SIZE)
    _check_count("nTried", tried_count, TRIED_BUCKETS * BUCKET_SIZE)
    v2 = format_number >= _FIRST_V2_FORMAT
    numbers = [tables.insert(_read_entry(reader, v2)) for _ in range(new_count)]
    lost_tried = sum(not _take_tried(tables, _read_entry(reader, v2)) for _ in range(tried_count))
    places = _read_places(reader, buckets, numbers)
    stored_map = reader.take(32) if format_number >= 2 else NULL_HASH
    same_places = buckets == NEW_BUCKETS and stored_map == tables.placement.groups.version
    lost_new = _place_new(tables, places, restore=same_places)
    if lost_new or lost_tried:
        logger.debug(
            "addrman lost %d new and %d tried addresses due to collisions or invalid addresses", lost_new, lost_tried
        )
    fault = fault_of(tables)
    if fault:
        raise _failure(f"Corrupt data. Consistency check failed with code {fault}")


def _read_entry(reader: Reader, v2: bool) -> AddressEntry:
    address = read_address(reader, v2=v2)
    source = read_plain(reader, v2=v2)
    last_success, attempts = _TRY.unpack(reader.take(_TRY.size))
    return AddressEntry(address.endpoint, address.services, address.time, source, last_success, attempts)


def _take_tried(tables: AddressTables, entry: AddressEntry) -> bool:
    bucket, position = tables.tried_place(entry)
    if not entry.endpoint.address.is_valid or position in tables.tried[bucket]:
        return False
    entry.is_tried = True
    tables.tried[bucket][position] = tables.insert(entry)
    return True


def _read_places(reader: Reader, buckets: int, numbers: list[int]) -> list[tuple[int, int]]:
    """Return (bucket, number) for each place of the new table."""
    places = []
    for bucket in range(buckets):
        for _ in range(_I32.unpack(reader.take(4))[0]):
            index = _I32.unpack(reader.take(4))[0]
            if 0 <= index < len(numbers):
                places.append((bucket, numbers[index]))
    return places


def _place_new(tables: AddressTables, places: list[tuple[int, int]], *, restore: bool) -> int:
    """Put the new entries where they were, or where they belong; return how many have no place any more."""
    for bucket, number in places:
        entry = tables.entries[number]
        if not entry.endpoint.address.is_valid or entry.references >= BUCKETS_PER_ADDRESS:
            continue
        position = tables.placement.position(entry.endpoint, bucket, is_new=True)
        if not restore or position in tables.new[bucket]:
            bucket, position = tables.new_place(entry)
        if position not in tables.new[bucket]:
            tables.put_new(number, bucket, position)
    homeless = [number for number, entry in tables.entries.items() if not entry.is_tried and not entry.references]
    for number in homeless:
        tables.forget(number)
    return len(homeless)


def _check_count(name: str, count: int, most: int) -> None:
    if not 0 <= count <= most:
        raise _failure(f"Corrupt AddrMan serialization: {name}={count}, should be in [0, {most}]")


def _failure(text: str) -> DecodeError:
    # Tools look for the reference's words, of which its standard library adds the last two.
    return DecodeError(f"{text}: iostream error")
