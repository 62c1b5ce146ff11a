"""RPC method decodepsbt.

Owns: its answer. Never: what a PSBT lacks.
"""

from typing import Any

from clarion.api.render.psbt import psbt_json
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.psbt_args import PSBT_ARG, decode_psbt
from clarion.api.rpc.psbt_results import PSBT_FIELDS
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Result, ResultType


@rpc_method(
    "decodepsbt",
    category="rawtransactions",
    where=READER,
    description="Returns what a PSBT says.",
    args=[PSBT_ARG],
    results=Result(ResultType.OBJ, "", "", PSBT_FIELDS),
    examples=(('"psbt"', '"psbt"'),),
)
def decodepsbt(ctx: ReaderContext, psbt: str) -> dict[str, Any]:
    """Return a decoded PSBT. Raises RpcError -22."""
    return psbt_json(decode_psbt(psbt), ctx.params)
