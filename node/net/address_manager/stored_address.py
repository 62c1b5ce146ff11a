"""Addresses in files.

Owns: the encoding of an address with its time and services on disk, and files that are checked by their hash. Never:
which files there are.
Source: Bitcoin Core's src/protocol.h (CAddress), src/addrdb.cpp.
"""

import os
import secrets
from pathlib import Path

from clarion.node.errors import DecodeError
from clarion.node.net.address import MAX_ADDRV2_SIZE, UNSPECIFIED, NetAddress, from_v1, from_v2
from clarion.node.net.messages.addresses import TimedAddress, read_v1, read_v2
from clarion.node.net.reader import U32, Reader
from clarion.node.primitives.hashes import sha256d

_FORMAT_INIT = 220_000
_FORMAT_IGNORED = (1 << 19) - 1
_FORMAT_V2 = 1 << 29
_CHECKSUM_SIZE = 32


def address_bytes(address: TimedAddress) -> bytes:
    """Return an address as files hold it, in BIP155's encoding behind a number that says so."""
    return U32(_FORMAT_INIT | _FORMAT_V2) + address.to_v2()


def read_address(reader: Reader, *, v2: bool = True) -> TimedAddress:
    """Return the address at the reader's position; without `v2` only the old encoding is allowed. Raises DecodeError."""
    stored = reader.unsigned(4) & ~_FORMAT_IGNORED
    if stored == 0:
        return read_v1(reader)
    if stored == _FORMAT_V2 and v2:
        return read_v2(reader)
    raise DecodeError("Unsupported CAddress disk format version")


def read_plain(reader: Reader, *, v2: bool = True) -> NetAddress:
    """Return an address without port, time and services. Raises DecodeError."""
    if not v2:
        return from_v1(reader.take(16))
    network_id = reader.unsigned(1)
    return from_v2(network_id, reader.var_bytes(MAX_ADDRV2_SIZE)) or UNSPECIFIED


def write_checked(path: Path, magic: bytes, data: bytes) -> None:
    """Replace a file by `data` behind the network's magic bytes and in front of the hash of both. Raises OSError."""
    body = magic + data
    temporary = path.with_name(f"{path.stem}.{secrets.token_hex(2)}")
    try:
        with temporary.open("wb") as file:
            file.write(body + sha256d(body))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


class CheckedFile:
    """The contents of a file that `write_checked` wrote. `reader` stands behind the magic bytes."""

    def __init__(self, data: bytes, magic: bytes) -> None:
        """Raises DecodeError for another network's file."""
        self._data = data
        self.reader = Reader(data)
        if self.reader.take(len(magic)) != magic:
            raise DecodeError("Invalid network magic number")

    def check(self) -> None:
        """Compare the hash, once all in front of it has been read. Raises DecodeError."""
        end = self.reader.at
        if self.reader.take(_CHECKSUM_SIZE) != sha256d(self._data[:end]):
            raise DecodeError("Checksum mismatch, data corrupted")
