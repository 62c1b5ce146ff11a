"""The RPC method about the node's memory: getmemoryinfo.

Owns: its answer, from the C library's own counts. Never: the mempool.
"""

import ctypes
import sys
from typing import Any

from clarion.api.rpc.context import NodeContext
from clarion.api.rpc.errors import RpcCode
from clarion.api.rpc.registry import NODE, rpc_method
from clarion.api.rpc.spec import Arg, ArgType, Result, ResultType
from clarion.node.errors import RpcError

_T = ResultType


class _Mallinfo2(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


@rpc_method(
    "getmemoryinfo",
    category="control",
    where=NODE,
    description="Returns how much memory the node's process has from the C library.\n"
    "The member is called as in Bitcoin Core, which keeps keys in locked memory; Clarion has no keys and locks nothing.",
    args=[Arg("mode", ArgType.STR, "'stats', or 'mallocinfo' for glibc's own report as XML", default="stats")],
    results=[
        Result(
            _T.OBJ,
            "",
            "",
            (
                Result(
                    _T.OBJ,
                    "locked",
                    "the C heap; zeros where the C library doesn't count",
                    (
                        Result(_T.NUM, "used", "bytes in use"),
                        Result(_T.NUM, "free", "bytes that are free"),
                        Result(_T.NUM, "total", "the sum of both"),
                        Result(_T.NUM, "locked", "bytes that can't be swapped to disk"),
                        Result(_T.NUM, "chunks_used", "blocks that the interpreter has allocated"),
                        Result(_T.NUM, "chunks_free", "free chunks of the heap"),
                    ),
                ),
            ),
            condition='for mode "stats"',
        ),
        Result(_T.STR, "", "the report", condition='for mode "mallocinfo"'),
    ],
)
def getmemoryinfo(ctx: NodeContext, mode: str) -> Any:
    """Return the counts or the report. Raises RpcError -8 for a mode that does not exist, here or at all."""
    if mode == "stats":
        return {"locked": _heap()}
    if mode == "mallocinfo":
        return _report()
    raise RpcError(RpcCode.INVALID_PARAMETER, f"unknown mode {mode}")


def _heap() -> dict[str, int]:
    count = getattr(ctypes.CDLL(None), "mallinfo2", None)
    used = free = chunks_free = 0
    if count is not None:
        count.restype = _Mallinfo2
        info = count()
        used, free, chunks_free = info.uordblks + info.hblkhd, info.fordblks, info.ordblks
    return {
        "used": used,
        "free": free,
        "total": used + free,
        "locked": 0,
        "chunks_used": sys.getallocatedblocks(),
        "chunks_free": chunks_free,
    }


def _report() -> str:
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_info"):
        raise RpcError(RpcCode.INVALID_PARAMETER, "mallocinfo mode not available")
    library.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(library.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    library.malloc_info(0, stream)
    library.fclose(stream)
    report = (text.value or b"").decode()
    library.free(text)
    return report
