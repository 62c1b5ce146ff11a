"""Numbers as the reference writes them in JSON.

Owns: amounts and floating-point numbers as ready-made JSON. Never: parsing.
"""

import orjson

from clarion.node.primitives.amounts import format_amount


def amount_json(satoshis: int) -> orjson.Fragment:
    """Return satoshis as coins: eight decimals, no exponent. Only orjson can encode the result."""
    return orjson.Fragment(format_amount(satoshis))


def number_json(value: float) -> orjson.Fragment:
    """Return a number with the reference's 16 significant digits. Only orjson can encode the result."""
    return orjson.Fragment(f"{value:.16g}")
