"""Reads the bytes of a PSBT from front to back, failing with the reference's words.

Owns: lengths, numbers and the maps of keys and values. Never: what a key means.
"""

from collections.abc import Iterator

from clarion.node.errors import DecodeError, EndOfData
from clarion.node.primitives.codec import compact_size, read_compact_size, var_bytes
from clarion.node.primitives.transaction import Transaction, parse_transaction

_KNOWN_PROBLEMS = (
    "non-canonical ReadCompactSize()",
    "ReadCompactSize(): size too large",
    "Superfluous witness record",
    "Unknown transaction optional data",
)


class PsbtError(DecodeError):
    """Bytes that are no PSBT; `str()` is the reference's message."""


def broken(message: str) -> PsbtError:
    """Return the error of data that breaks a rule. The reference's stream errors name their category behind it."""
    return PsbtError(f"{message}: iostream error")


def _translate(error: DecodeError) -> PsbtError:
    if isinstance(error, EndOfData):
        return broken("SpanReader::read(): end of data")
    problem = next((known for known in _KNOWN_PROBLEMS if str(error).startswith(known)), str(error))
    return broken(problem)


class Reader:
    """A place in some bytes. Every method raises PsbtError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.data)

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.at + count
        if end > len(self.data):
            raise broken("SpanReader::read(): end of data")
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self, size: int = 4, *, signed: bool = False) -> int:
        """Return the little-endian number of the next bytes."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def compact_size(self) -> int:
        """Return the next CompactSize."""
        try:
            value, self.at = read_compact_size(self.data, self.at)
        except DecodeError as error:
            raise _translate(error) from None
        return value

    def var_bytes(self) -> bytes:
        """Return the next bytes that have their length in front."""
        return self.take(self.compact_size())

    def transaction(self, *, allow_witness: bool) -> Transaction:
        """Return the next transaction."""
        try:
            tx, self.at = parse_transaction(self.data, self.at, allow_witness=allow_witness)
        except DecodeError as error:
            raise _translate(error) from None
        return tx

    def begin_value(self) -> int:
        """Return where the value that comes next must end; its parts are read one by one."""
        size = self.compact_size()
        return self.at + size

    def end_value(self, end: int) -> None:
        """Raise unless the parts of a value ended where they had to."""
        if self.at != end:
            raise broken("Size of value was not the stated size")

    def fixed(self, size: int) -> bytes:
        """Return a value of a known size."""
        end = self.begin_value()
        found = self.take(size)
        self.end_value(end)
        return found

    def uint32(self) -> int:
        """Return a value that is a number of four bytes."""
        return int.from_bytes(self.fixed(4), "little")

    def keys(self, scope: str) -> Iterator[bytes]:
        """Yield the keys of a map up to its separator; whoever takes one reads its value. `scope` names the map."""
        seen: set[bytes] = set()
        while not self.is_at_end:
            key = self.var_bytes()
            if not key:
                return
            if key in seen:
                raise broken(f'Duplicate Key, {scope} key "{key.hex()}" already provided')
            seen.add(key)
            yield key
        article = {"global": "the", "input": "an", "output": "an"}[scope]
        raise broken(f"Separator is missing at the end of {article} {scope} map")


def pair(kind: int, value: bytes, key_data: bytes = b"") -> bytes:
    """Return the bytes of a key, its type in front, and its value."""
    return var_bytes(compact_size(kind) + key_data) + var_bytes(value)


def check_key_size(name: str, key: bytes, size: int = 1) -> None:
    """Raise unless a key, its type included, has the size that its type asks for."""
    if len(key) != size:
        raise broken(f"Size of key was not {size} for the type {name}")
