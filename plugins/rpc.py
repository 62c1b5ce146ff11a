"""RPC methods of plugins: how one is declared.

Owns: the declaration. Never: calls, help texts (clarion.api.rpc).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class ArgKind(Enum):
    """JSON type of an argument; the value is its name."""

    TEXT = "string"
    NUMBER = "number"
    FLAG = "boolean"
    LIST = "array"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class RpcArg:
    """An argument. `default` is what the method gets where it is left out or null."""

    name: str
    kind: ArgKind
    description: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """A method. `handler` takes a context and one value for each argument, and returns what JSON can say.

    It runs in a thread of an API process, with a `ReaderAccess`; with `in_node` in the node, with a `NodeAccess`.
    `internal` methods are questions of API processes to the node: clients can't call them. RpcError from
    `clarion.node.errors` reaches the client with its code; anything else as code -1, and in the log.
    """

    name: str
    handler: Callable[..., Any]
    description: str
    args: Sequence[RpcArg] = ()
    result: str = "the result"
    in_node: bool = False
    internal: bool = False
    example: str = ""
