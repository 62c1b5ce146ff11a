"""Amounts as text.

Owns: satoshis to coins and back, exactly, without floats. Never: JSON or error answers.
"""

import re

from clarion.node.errors import DecodeError

COIN = 100_000_000
"""Satoshis in a bitcoin."""

MAX_MONEY = 21_000_000 * COIN
"""No amount in a valid transaction is larger (a sanity limit, not the supply)."""

_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_MONEY = re.compile(r"([0-9]{0,10})(?:\.([0-9]{0,8}))?")
_WHITESPACE = " \f\n\r\t\v"
_MANTISSA_BOUND = 10**18 - 1


def format_amount(satoshis: int) -> str:
    """Return satoshis as coins with exactly eight decimals and no exponent."""
    sign, value = ("-", -satoshis) if satoshis < 0 else ("", satoshis)
    return f"{sign}{value // COIN}.{value % COIN:08d}"


def money_range(satoshis: int) -> bool:
    """Whether it is from 0 to 21 million coins."""
    return 0 <= satoshis <= MAX_MONEY


def parse_fixed_point(text: str, decimals: int) -> int:
    """Return the value of a JSON number's text times 10^decimals.

    Raises DecodeError if it is no JSON number, has digits behind the last decimal or reaches 10^18.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise DecodeError(f"not a number: {text!r}")
    sign, whole, fraction, exponent_sign, exponent_digits = match.groups()
    fraction = fraction or ""
    digits = ("" if whole == "0" else whole) + fraction
    significant = digits.rstrip("0")
    mantissa = significant.lstrip("0")
    # A gigantic exponent is refused by its length, before it becomes a gigantic number.
    if len(mantissa) > 18 or len(exponent_digits or "") > 18:
        raise DecodeError(f"number out of range: {text!r}")
    exponent = int(exponent_digits or 0) * (-1 if exponent_sign == "-" else 1)
    exponent += decimals - len(fraction) + len(digits) - len(significant)
    if exponent < 0 or exponent >= 18:
        raise DecodeError(f"number out of range or too precise: {text!r}")
    value: int = int(mantissa or 0) * 10**exponent
    if value > _MANTISSA_BOUND:
        raise DecodeError(f"number out of range: {text!r}")
    return -value if sign else value


def parse_amount(text: str) -> int:
    """Return the satoshis of an amount in coins, as the reference reads RPC arguments.

    Raises DecodeError with the reference's message: `Invalid amount` or `Amount out of range`.
    """
    try:
        satoshis = parse_fixed_point(text, 8)
    except DecodeError:
        raise DecodeError("Invalid amount") from None
    if not money_range(satoshis):
        raise DecodeError("Amount out of range")
    return satoshis


def parse_money(text: str) -> int | None:
    """Return the satoshis of an option's amount in coins, as the reference's ParseMoney reads it; None if it is none.

    Digits and at most one point with up to eight more behind it; either side may be empty. Spaces around are ignored.
    """
    stripped = text.strip(_WHITESPACE)
    match = _MONEY.fullmatch(stripped)
    if match is None or not stripped:
        return None
    whole, fraction = match.groups()
    satoshis = int(whole or 0) * COIN + int((fraction or "").ljust(8, "0"))
    return satoshis if money_range(satoshis) else None
