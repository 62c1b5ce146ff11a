"""Stack items as numbers and booleans."""

import pytest

from clarion.node.primitives.script import encode_number
from clarion.node.script.errors import ScriptError, ScriptFailure
from clarion.node.script.numbers import LOCK_TIME_MAX_NUMBER_SIZE, cast_to_bool, read_number


@pytest.mark.parametrize("value", [0, 1, -1, 127, 128, -128, 255, 256, -32768, 2**31 - 1, -(2**31) + 1])
def test_four_byte_numbers_come_back(value: int) -> None:
    assert read_number(encode_number(value), require_minimal=True) == value


@pytest.mark.parametrize("value", [2**31, -(2**31), 2**32 - 1])
def test_results_may_be_too_long_for_operands(value: int) -> None:
    item = encode_number(value)
    with pytest.raises(ScriptFailure) as failure:
        read_number(item, require_minimal=False)
    assert failure.value.error is ScriptError.SCRIPTNUM
    assert read_number(item, True, LOCK_TIME_MAX_NUMBER_SIZE) == value


@pytest.mark.parametrize("item", ["00", "80", "0100", "7f00", "ff0080", "ffff7f00"])
def test_padded_numbers_need_leave(item: str) -> None:
    read_number(bytes.fromhex(item), require_minimal=False)
    with pytest.raises(ScriptFailure):
        read_number(bytes.fromhex(item), require_minimal=True)


@pytest.mark.parametrize("item", ["ff00", "ff80", "0080", "80", "8000"])
def test_sign_bytes_that_a_full_byte_needs_are_minimal(item: str) -> None:
    data = bytes.fromhex(item)
    needed = len(data) == 2 and data[0] & 0x80
    if needed:
        assert read_number(data, require_minimal=True) == read_number(data, require_minimal=False)
    else:
        with pytest.raises(ScriptFailure):
            read_number(data, require_minimal=True)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("", False),
        ("00", False),
        ("80", False),
        ("000080", False),
        ("8000", True),
        ("01", True),
        ("000001", True),
        ("0081", True),
    ],
)
def test_booleans(item: str, expected: bool) -> None:
    assert cast_to_bool(bytes.fromhex(item)) is expected
