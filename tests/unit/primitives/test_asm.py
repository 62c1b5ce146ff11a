"""Scripts as text."""

import pytest

from clarion.node.primitives.asm import is_strict_der, to_asm
from clarion.node.primitives.script import push_data

DER = bytes.fromhex("3006020101020102")
SIGNATURE = DER + b"\x01"

TEXTS = {
    "empty": ("", ""),
    "numbers": ("004f5160018001ff02ff0004ffffff7f", "0 -1 1 16 0 -127 255 2147483647"),
    "five-bytes-are-hex": ("050000000001", "0000000001"),
    "opcodes": ("76a9bbff", "OP_DUP OP_HASH160 OP_UNKNOWN OP_INVALIDOPCODE"),
    "upgraded-nops": ("b1b2ba", "OP_CHECKLOCKTIMEVERIFY OP_CHECKSEQUENCEVERIFY OP_CHECKSIGADD"),
    "pushdata": ("4c01614d05006162636465", "97 6162636465"),
    "cut-off": ("5102aa", "1 [error]"),
    "only-cut-off": ("4d", "[error]"),
}


@pytest.mark.parametrize(("script", "text"), TEXTS.values(), ids=TEXTS)
def test_text(script: str, text: str) -> None:
    assert to_asm(bytes.fromhex(script)) == text


@pytest.mark.parametrize(
    ("hash_type", "name"),
    [(1, "[ALL]"), (2, "[NONE]"), (3, "[SINGLE]"), (0x81, "[ALL|ANYONECANPAY]"), (0x83, "[SINGLE|ANYONECANPAY]")],
)
def test_hash_types_by_name(hash_type: int, name: str) -> None:
    script = push_data(DER + bytes((hash_type,)))
    assert to_asm(script, decode_sighash=True) == DER.hex() + name
    assert to_asm(script) == script[1:].hex()


def test_undefined_hash_type_and_unspendable_scripts_stay_hex() -> None:
    assert to_asm(push_data(DER + b"\x04"), decode_sighash=True) == DER.hex() + "04"
    assert to_asm(b"\x6a" + push_data(SIGNATURE), decode_sighash=True) == "OP_RETURN " + SIGNATURE.hex()


BAD_DER = {
    "short": SIGNATURE[:8],
    "no-sequence": b"\x31" + SIGNATURE[1:],
    "length": b"\x30\x07" + SIGNATURE[2:],
    "r-too-long": bytes.fromhex("300602050102010201"),
    "r-tag": bytes.fromhex("300603010102010201"),
    "r-empty": bytes.fromhex("30060200020201020301"),
    "r-negative": bytes.fromhex("300602018102010201"),
    "r-padded": bytes.fromhex("30070202000102010201"),
    "s-tag": bytes.fromhex("300602010103010201"),
    "s-negative": bytes.fromhex("300602010102018201"),
    "s-padded": bytes.fromhex("30070201010202000201"),
}


@pytest.mark.parametrize("data", BAD_DER.values(), ids=BAD_DER)
def test_not_strict_der(data: bytes) -> None:
    assert not is_strict_der(data)


def test_strict_der_with_needed_zero() -> None:
    assert is_strict_der(SIGNATURE)
    assert is_strict_der(bytes.fromhex("30080202008102020082") + b"\x01")
