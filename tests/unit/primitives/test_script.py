"""The walk over script bytes, predicates, pushes and numbers."""

import pytest

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.script import (
    ANCHOR_SCRIPT,
    decode_number,
    encode_number,
    has_valid_ops,
    is_minimal_push,
    is_p2sh,
    is_p2tr,
    is_p2wpkh,
    is_p2wsh,
    is_push_only,
    is_unspendable,
    iter_ops,
    multisig_script,
    push_data,
    push_number,
    witness_program,
)

CUT_OFF = [
    "01",
    "4b" + "00" * 74,
    "4c",
    "4c01",
    "4d",
    "4d01",
    "4d0100",
    "4e",
    "4e010000",
    "4e0100000000"[:10],
    "4effffffff00",
]


def test_walk_reads_all_kinds_of_pushes() -> None:
    script = bytes.fromhex("0002aabb4c01cc4d0100dd4e01000000ee51ac")
    assert [(opcode, data.hex()) for opcode, data, _ in iter_ops(script)] == [
        (0, ""), (2, "aabb"), (0x4C, "cc"), (0x4D, "dd"), (0x4E, "ee"), (0x51, ""), (0xAC, ""),
    ]  # fmt: skip
    assert [end for _, _, end in iter_ops(script)][-1] == len(script)


@pytest.mark.parametrize("broken", CUT_OFF)
def test_walk_stops_where_a_push_is_cut_off(broken: str) -> None:
    script = b"\x51" + bytes.fromhex(broken)
    assert list(iter_ops(script)) == [(0x51, b"", 1)]
    assert not has_valid_ops(script)
    assert not is_push_only(script)


def test_valid_ops() -> None:
    assert has_valid_ops(b"")
    assert has_valid_ops(push_data(bytes(520)) + bytes((op.OP_NOP10,)))
    assert not has_valid_ops(push_data(bytes(521)))
    assert not has_valid_ops(bytes((op.OP_CHECKSIGADD,)))


def test_push_only_counts_reserved_and_small_numbers() -> None:
    assert is_push_only(bytes((op.OP_0, op.OP_RESERVED, op.OP_16, op.OP_1NEGATE)))
    assert not is_push_only(bytes((op.OP_NOP,)))
    assert is_push_only(bytes((op.OP_RETURN, 1, 7)), 1)


def test_unspendable() -> None:
    assert is_unspendable(b"\x6a")
    assert is_unspendable(bytes(10_001))
    assert not is_unspendable(bytes(10_000))
    assert not is_unspendable(b"")


def test_output_shapes() -> None:
    hash20, hash32 = bytes(20), bytes(32)
    assert is_p2sh(b"\xa9\x14" + hash20 + b"\x87")
    assert not is_p2sh(b"\xa9\x4c\x14" + hash20 + b"\x87")
    assert is_p2wpkh(b"\0\x14" + hash20)
    assert is_p2wsh(b"\0\x20" + hash32)
    assert is_p2tr(b"\x51\x20" + hash32)


PROGRAMS = {
    "v0": ("0014" + "00" * 20, (0, bytes(20))),
    "v16-shortest": ("60020000", (16, bytes(2))),
    "longest": ("5128" + "00" * 40, (1, bytes(40))),
    "anchor": (ANCHOR_SCRIPT.hex(), (1, b"\x4e\x73")),
    "one-byte": ("510100", None),
    "too-long": ("5129" + "00" * 41, None),
    "length-differs": ("510300", None),
    "no-version": ("4f020000", None),
    "pushdata1": ("514c020000", None),
}


@pytest.mark.parametrize(("script", "program"), PROGRAMS.values(), ids=PROGRAMS)
def test_witness_program(script: str, program: tuple[int, bytes] | None) -> None:
    assert witness_program(bytes.fromhex(script)) == program


@pytest.mark.parametrize(
    ("size", "prefix"), [(0, "00"), (75, "4b"), (76, "4c4c"), (255, "4cff"), (256, "4d0001"), (65536, "4e00000100")]
)
def test_push_data_uses_the_shortest_prefix(size: int, prefix: str) -> None:
    assert push_data(bytes(size)) == bytes.fromhex(prefix) + bytes(size)
    assert next(iter_ops(push_data(bytes(size))))[1] == bytes(size)


@pytest.mark.parametrize(
    ("value", "script"),
    [(0, "00"), (-1, "4f"), (1, "51"), (16, "60"), (17, "0111"), (-2, "0182"), (127, "017f"), (128, "028000"),
     (-255, "02ff80"), (500_000, "0320a107"), (2**31, "050000008000")],
)  # fmt: skip
def test_push_number(value: int, script: str) -> None:
    assert push_number(value).hex() == script


@pytest.mark.parametrize(
    ("data", "value"), [("", 0), ("80", 0), ("0080", 0), ("81", -1), ("ffff", -32767), ("0100", 1)]
)
def test_decode_number_takes_any_encoding(data: str, value: int) -> None:
    assert decode_number(bytes.fromhex(data)) == value
    assert decode_number(encode_number(value)) == value


def test_minimal_push() -> None:
    assert is_minimal_push(b"", op.OP_0)
    assert is_minimal_push(b"\x11", 1)
    assert not any(is_minimal_push(bytes((byte,)), 1) for byte in (1, 16, 0x81))
    assert not is_minimal_push(b"\x11", op.OP_PUSHDATA1)
    assert is_minimal_push(bytes(256), op.OP_PUSHDATA2)


def test_opcode_names() -> None:
    assert [op.opcode_name(code) for code in (0, 0x4F, 0x51, 0x60, 0xB1, 0xBA, 0xFF)] == [
        "0", "-1", "1", "16", "OP_CHECKLOCKTIMEVERIFY", "OP_CHECKSIGADD", "OP_INVALIDOPCODE",
    ]  # fmt: skip
    assert op.opcode_name(0xBB) == op.opcode_name(5) == "OP_UNKNOWN"


def test_multisig_script() -> None:
    keys = [b"\2" + bytes(32)] * 17
    assert multisig_script(1, keys)[-3:] == b"\x01\x11\xae"
