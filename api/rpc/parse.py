"""Reading of argument values as the reference reads them, with its error codes and texts.

Owns: integers, amounts, hashes, hex, verbosity, arrays and objects. Never: what the values mean.
"""

from typing import Any

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.spec import json_type
from clarion.node.errors import DecodeError, RpcError
from clarion.node.primitives import amounts

INT32 = (-(2**31), 2**31 - 1)
UINT32 = (0, 2**32 - 1)
INT64 = (-(2**63), 2**63 - 1)
UINT64 = (0, 2**64 - 1)


def parse_int(value: Any, limits: tuple[int, int] = INT32) -> int:
    """Return an integer within `limits`. Raises RpcError -3 for another type, -1 for a fraction or a large number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise type_mismatch(value, "number")
    if isinstance(value, float) or not limits[0] <= value <= limits[1]:
        raise RpcError(RpcCode.MISC_ERROR, "JSON integer out of range")
    return value


def parse_str(value: Any) -> str:
    """Return a string. Raises RpcError -3 for another type."""
    if not isinstance(value, str):
        raise type_mismatch(value, "string")
    return value


def parse_list(value: Any) -> list[Any]:
    """Return an array. Raises RpcError -3 for another type."""
    if not isinstance(value, list):
        raise type_mismatch(value, "array")
    return value


def parse_object(value: Any) -> dict[str, Any]:
    """Return an object. Raises RpcError -3 for another type."""
    if not isinstance(value, dict):
        raise type_mismatch(value, "object")
    return value


def type_mismatch(value: Any, expected: str) -> RpcError:
    """Return the error about a value whose JSON type is not `expected`."""
    return RpcError(RpcCode.TYPE_ERROR, f"JSON value of type {json_type(value)} is not of expected type {expected}")


def parse_hash(value: Any, name: str) -> bytes:
    """Return the internal byte order of a displayed hash. Raises RpcError -8 naming the argument `name`."""
    text = parse_str(value)
    data = unhex(text)
    if data is not None and len(data) == 32:
        return data[::-1]
    if len(text) != 64:
        raise RpcError(
            RpcCode.INVALID_PARAMETER, f"{name} must be of length 64 (not {len(text.encode())}, for '{text}')"
        )
    raise RpcError(RpcCode.INVALID_PARAMETER, f"{name} must be hexadecimal string (not '{text}')")


def parse_hex(value: Any, name: str) -> bytes:
    """Return the bytes of a hex string that is not empty. Raises RpcError -8 naming the argument `name`."""
    text = value if isinstance(value, str) else ""
    data = unhex(text)
    if data is None:
        raise RpcError(RpcCode.INVALID_PARAMETER, f"{name} must be hexadecimal string (not '{text}')")
    return data


def parse_amount(value: Any) -> int:
    """Return the satoshis of an amount in coins, a number or its text. Raises RpcError -3."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise RpcError(RpcCode.TYPE_ERROR, "Amount is not a number or string")
    try:
        return amounts.parse_amount(str(value))
    except DecodeError as error:
        raise RpcError(RpcCode.TYPE_ERROR, str(error)) from None


def is_hex(text: str) -> bool:
    """Whether `text` is a non-empty, even number of hex digits and nothing else."""
    return unhex(text) is not None


def unhex(text: str) -> bytes | None:
    """Return the bytes that `text` spells, None unless it is a non-empty, even number of hex digits and nothing else."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    # Blanks between bytes are skipped there; looking for them in a block's text would take longer than all the rest.
    return data if data and 2 * len(data) == len(text) else None


def parse_verbosity(value: Any, default: int) -> int:
    """Return the verbosity that an int or a bool asks for, `default` for null."""
    if value is None:
        return default
    if isinstance(value, bool):
        return int(value)
    return parse_int(value)


def check_members(value: dict[str, Any], expected: dict[str, str], *, nullable: bool, strict: bool = False) -> None:
    """Check the JSON types of an object's members by name. Raises RpcError -3.

    Members may be missing or null only if `nullable`; with `strict` there may be no others.
    """
    for name, wanted in expected.items():
        given = json_type(value.get(name))
        if given == "null":
            if nullable:
                continue
            raise RpcError(RpcCode.TYPE_ERROR, f"Missing {name}")
        if given != wanted:
            raise RpcError(
                RpcCode.TYPE_ERROR, f"JSON value of type {given} for field {name} is not of expected type {wanted}"
            )
    unknown = next((name for name in value if name not in expected), None)
    if strict and unknown is not None:
        raise RpcError(RpcCode.TYPE_ERROR, f"Unexpected key {unknown}")
