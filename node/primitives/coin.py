"""Coins: unspent outputs with where they came from.

Owns: the value that the coins cache, undo data and consensus share. Never: where coins are kept.
"""

import struct
from collections.abc import Sequence
from typing import Protocol

from clarion.node.primitives.codec import var_bytes

_VALUE = struct.Struct("<q").pack
_VALUE_AND_LENGTH = struct.Struct("<qB").pack


class SpentOutput(Protocol):
    """What a script check needs of the output that an input spends; `Coin` and `TxOut` both have it."""

    value: int
    script_pubkey: bytes


class Coin:
    """An output with the height of its block and whether a coinbase made it. Treat as immutable."""

    __slots__ = ("code", "script_pubkey", "value")

    def __init__(self, value: int, script_pubkey: bytes, code: int) -> None:
        """`value` in satoshis; `code` is height * 2 + (1 for a coinbase), the integer that storage keeps."""
        self.value = value
        self.script_pubkey = script_pubkey
        self.code = code

    @property
    def height(self) -> int:
        """Height of the block that made the coin."""
        return self.code >> 1

    @property
    def is_coinbase(self) -> bool:
        """Whether a coinbase made the coin."""
        return bool(self.code & 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coin):
            return NotImplemented
        return (self.value, self.code, self.script_pubkey) == (other.value, other.code, other.script_pubkey)

    def __hash__(self) -> int:
        return hash((self.value, self.code, self.script_pubkey))

    def __repr__(self) -> str:
        return f"Coin({self.value}, {self.script_pubkey.hex()}, height={self.height}, coinbase={self.is_coinbase})"


def encode_outputs(outputs: Sequence[SpentOutput]) -> bytes:
    """Return outputs as on the wire one behind the other, without their count."""
    # Lengths below 253 are a single byte, which goes with the value.
    return b"".join(
        [
            _VALUE_AND_LENGTH(output.value, len(script)) + script
            if len(script := output.script_pubkey) < 253
            else _VALUE(output.value) + var_bytes(script)
            for output in outputs
        ]
    )
