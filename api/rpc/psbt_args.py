"""PSBTs as clients send and get them.

Owns: base64 in requests and answers, with the reference's error texts. Never: what is done with them.
"""

import base64
from typing import Any

from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.parse import UINT32, parse_int, parse_list, parse_str
from clarion.api.rpc.spec import Arg, ArgType
from clarion.node.errors import RpcError
from clarion.node.primitives.base64_text import decode_base64
from clarion.node.script.psbt.psbt import Psbt, parse_psbt
from clarion.node.script.psbt.reader import PsbtError

DEFAULT_VERSION = 2
_VERSIONS = (0, 2)

PSBT_ARG = Arg("psbt", ArgType.STR, "The PSBT in base64", required=True)
PSBTS_ARG = Arg("txs", ArgType.ARR, "The PSBTs", required=True, inner=(Arg("psbt", ArgType.STR, "A PSBT in base64"),))
VERSION_ARG = Arg("psbt_version", ArgType.NUM, "The version of PSBT, 0 or 2", default=DEFAULT_VERSION)


def decode_psbt(value: Any) -> Psbt:
    """Return the PSBT of a base64 text. Raises RpcError -22 with the reference's message."""
    data = decode_base64(parse_str(value))
    try:
        if data is None:
            raise PsbtError("invalid base64")
        return parse_psbt(data)
    except PsbtError as error:
        raise RpcError(RpcCode.DESERIALIZATION_ERROR, f"TX decode failed {error}") from None


def decode_psbts(value: Any) -> list[Psbt]:
    """Return the PSBTs of an array of base64 texts. Raises RpcError -3 or -22."""
    return [decode_psbt(text) for text in parse_list(value)]


def encode_psbt(psbt: Psbt) -> str:
    """Return a PSBT in base64."""
    return base64.b64encode(psbt.serialize()).decode()


def parse_psbt_version(value: Any) -> int:
    """Return the version of a PSBT to make. Raises RpcError -8."""
    version = parse_int(value, UINT32)
    if version not in _VERSIONS:
        raise RpcError(RpcCode.INVALID_PARAMETER, "The PSBT version can only be 2 or 0")
    return version
