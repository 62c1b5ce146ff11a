"""Amounts as text, exactly."""

import pytest

from clarion.node.errors import DecodeError
from clarion.node.primitives.amounts import COIN, MAX_MONEY, format_amount, parse_amount, parse_fixed_point, parse_money


@pytest.mark.parametrize(
    ("satoshis", "text"),
    [(0, "0.00000000"), (1, "0.00000001"), (50 * COIN, "50.00000000"), (MAX_MONEY, "21000000.00000000"),
     (-1, "-0.00000001"), (-150_000_000, "-1.50000000"), (2**63 - 1, "92233720368.54775807")],
)  # fmt: skip
def test_format(satoshis: int, text: str) -> None:
    assert format_amount(satoshis) == text


@pytest.mark.parametrize(
    ("text", "satoshis"),
    [("0", 0), ("0.00000000", 0), ("0.000000000000", 0), ("1", COIN), ("1.0e-8", 1), ("1e-8", 1), ("20999999.9769", 2099999997690000),
     ("0.1e1", COIN), ("0.01e+2", COIN), ("-0", 0), ("21000000", MAX_MONEY), ("0.00000001000000", 1), ("0.0000000001e+2", 1)],
)  # fmt: skip
def test_parse(text: str, satoshis: int) -> None:
    assert parse_amount(text) == satoshis


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".1",
        "1.",
        "01",
        "1e",
        "1e-9",
        "0.000000001",
        "1 ",
        "+1",
        "1e99999999999",
        "1e1000000000000000000000",
        "93e+9",
        "0x1",
        "१",
    ],
)
def test_invalid(text: str) -> None:
    with pytest.raises(DecodeError, match=r"^Invalid amount$"):
        parse_amount(text)


@pytest.mark.parametrize("text", ["-0.00000001", "21000000.00000001", "1e9"])
def test_out_of_range(text: str) -> None:
    with pytest.raises(DecodeError, match=r"^Amount out of range$"):
        parse_amount(text)


def test_fixed_point_with_other_decimals() -> None:
    assert parse_fixed_point("1.234", 3) == 1234
    assert parse_fixed_point("-999999999999999999", 0) == -999999999999999999
    with pytest.raises(DecodeError):
        parse_fixed_point("1000000000000000000", 0)


@pytest.mark.parametrize(
    ("text", "satoshis"),
    [
        (".", 0),
        ("0.", 0),
        (".6789", 67_890_000),
        ("12345.", 12_345 * COIN),
        ("  0.00000001 \t", 1),
        ("21000000", MAX_MONEY),
        ("21000000.00000001", None),
        ("12345678901", None),
        ("0.000000001", None),
        ("0.000000010", None),
        ("", None),
        (" ", None),
        ("..", None),
        ("0..0", None),
        ("1 .2", None),
        ("-1", None),
        ("+1", None),
        ("1e-8", None),
        ("1\0", None),
        ("\u0661", None),
    ],
)
def test_options_take_plain_decimals_only(text: str, satoshis: int | None) -> None:
    assert parse_money(text) == satoshis
