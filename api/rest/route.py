"""A REST route.

Owns: its shape. Never: routing, answers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from clarion.api.rest.request import RestAnswer, RestRequest
from clarion.api.rpc.context import ReaderContext


def never(request: RestRequest) -> bool:
    """The answer is always quick."""
    return False


def always(request: RestRequest) -> bool:
    """The answer may take long, or waits for the node."""
    return True


def json_only(request: RestRequest) -> bool:
    """Only rendering JSON takes long."""
    return request.format == "json"


@dataclass(frozen=True, slots=True)
class RestRoute:
    """`handler` answers paths that begin with `prefix`; `heavy` says which requests belong in a thread.

    `has_body`: what the client sends is part of the question.
    """

    prefix: str
    handler: Callable[[ReaderContext, RestRequest], RestAnswer]
    heavy: Callable[[RestRequest], bool] = never
    has_body: bool = False
