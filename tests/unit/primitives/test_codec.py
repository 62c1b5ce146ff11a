"""CompactSize: one encoding a number, and a limit."""

import pytest

from clarion.node.errors import DecodeError
from clarion.node.primitives.codec import MAX_SIZE, compact_size, read_compact_size, read_var_bytes, var_bytes

EDGES = [
    (0, "00"),
    (252, "fc"),
    (253, "fdfd00"),
    (0xFFFF, "fdffff"),
    (0x10000, "fe00000100"),
    (0xFFFFFFFF, "feffffffff"),
    (0x100000000, "ff0000000001000000"),
    (2**64 - 1, "ffffffffffffffffff"),
]


@pytest.mark.parametrize(("value", "encoded"), EDGES)
def test_edges_both_ways(value: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert compact_size(value) == data
    assert read_compact_size(b"\0" + data, 1, range_check=False) == (value, 1 + len(data))


@pytest.mark.parametrize(
    "encoded", ["fd0000", "fdfc00", "fe00000000", "feffff0000", "ff0000000000000000", "ffffffffff00000000"]
)
def test_longer_than_needed_is_refused(encoded: str) -> None:
    with pytest.raises(DecodeError, match=r"non-canonical ReadCompactSize\(\)"):
        read_compact_size(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["", "fd", "fdff", "feffffff", "ffffffffffffff"])
def test_cut_off_is_refused(encoded: str) -> None:
    with pytest.raises(DecodeError, match="ends inside"):
        read_compact_size(bytes.fromhex(encoded), 0)


def test_lengths_have_a_limit() -> None:
    assert read_compact_size(compact_size(MAX_SIZE), 0)[0] == MAX_SIZE
    with pytest.raises(DecodeError, match="size too large"):
        read_compact_size(compact_size(MAX_SIZE + 1), 0)


def test_var_bytes_cut_off() -> None:
    data = var_bytes(bytes(300))
    assert read_var_bytes(data, 0) == (bytes(300), len(data))
    with pytest.raises(DecodeError, match="300 bytes"):
        read_var_bytes(data[:-1], 0)
