"""Numbers as the reference writes them in JSON.

Owns: amounts and floating-point numbers. Never: parsing.
"""

import orjson

from clarion.node.primitives.amounts import format_amount


def amount_json(satoshis: int) -> orjson.Fragment:
    """Return an amount in coins: eight decimals, no exponent."""
    return orjson.Fragment(format_amount(satoshis))


def number_json(value: float) -> orjson.Fragment:
    """Return a number with the reference's 16 significant digits."""
    return orjson.Fragment(f"{value:.16g}")
