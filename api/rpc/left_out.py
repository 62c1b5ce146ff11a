"""RPC methods of what this program does not have, as the reference answers them without it.

Owns: their declarations and errors: getprivatebroadcastinfo, abortprivatebroadcast. Never: a feature.
"""

from typing import NoReturn

from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.registry import READER, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError

_T = ResultType
_TX = (
    Result(_T.STR_HEX, "txid", "the txid"),
    Result(_T.STR_HEX, "wtxid", "hash with its witness"),
    Result(_T.STR_HEX, "hex", "the transaction's bytes"),
)


def _no_private_broadcast() -> RpcError:
    return RpcError(
        RpcCode.METHOD_NOT_FOUND,
        "Private broadcast is not enabled. Ensure you're running Bitcoin Core with -privatebroadcast=1.",
    )


@rpc_method(
    "getprivatebroadcastinfo",
    category="rawtransactions",
    where=READER,
    description="Returns the transactions that are sent over Tor or I2P only. This node sends none so.",
    results=Result(
        _T.OBJ,
        "",
        "",
        (
            Result(
                _T.ARR,
                "transactions",
                "",
                (
                    Result(
                        _T.OBJ,
                        "",
                        "",
                        (
                            *_TX,
                            Result(_T.NUM_TIME, "time_added", "when it was handed in, UNIX epoch time"),
                            Result(
                                _T.ARR,
                                "peers",
                                "who got it",
                                (
                                    Result(
                                        _T.OBJ,
                                        "",
                                        "",
                                        (
                                            Result(_T.STR, "address", "the peer's address"),
                                            Result(_T.NUM_TIME, "sent", "when it was sent"),
                                            Result(_T.NUM_TIME, "received", "when it came in", optional=True),
                                        ),
                                    ),
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)
def getprivatebroadcastinfo(ctx: ReaderContext) -> NoReturn:
    """Raise RpcError -32601, as the reference without -privatebroadcast."""
    raise _no_private_broadcast()


@rpc_method(
    "abortprivatebroadcast",
    category="rawtransactions",
    where=READER,
    description="Stops sending a transaction over Tor or I2P only. This node sends none so.",
    args=[Arg("id", ArgType.STR_HEX, "Its txid or wtxid", required=True)],
    results=Result(_T.OBJ, "", "", (Result(_T.ARR, "removed_transactions", "", (Result(_T.OBJ, "", "", _TX),)),)),
    examples=(('"id"', '"id"'),),
)
def abortprivatebroadcast(ctx: ReaderContext, wanted: str) -> NoReturn:
    """Raise RpcError -32601, as the reference without -privatebroadcast."""
    raise _no_private_broadcast()
