"""A REST route.

Owns: its shape. Never: routing, answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clarion.api.rest.request import FORMATS, RestAnswer, RestRequest
from clarion.api.rpc.context import ReaderContext
from clarion.api.rpc.registry import find
from clarion.api.rpc.spec import Result


def never(request: RestRequest) -> bool:
    """The answer is always quick."""
    return False


def always(request: RestRequest) -> bool:
    """The answer may take long, or waits for the node."""
    return True


def json_only(request: RestRequest) -> bool:
    """Only rendering JSON takes long."""
    return request.format == "json"


COUNT: Mapping[str, Any] = {"count": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 5}}
"""The query of what answers about several blocks."""


@dataclass(frozen=True, slots=True)
class RestPath:
    """One path as the OpenAPI page shows it, without the format's ending; places of it stand in braces.

    `query` are JSON Schemas by the parameter's name. The JSON is as one of `json` says, or as the method `like` answers.
    """

    path: str
    summary: str
    formats: tuple[str, ...] = FORMATS
    query: Mapping[str, Any] = field(default_factory=dict)
    json: tuple[Result, ...] = ()
    like: str = ""

    @property
    def results(self) -> tuple[Result, ...]:
        """What the JSON is."""
        method = find(self.like)
        return self.json if method is None else method.results


@dataclass(frozen=True, slots=True)
class RestRoute:
    """`handler` answers paths that begin with `prefix`; `heavy` says which requests belong in a thread.

    `has_body`: what the client sends is part of the question. `paths` are what it is for, other paths are refused.
    """

    prefix: str
    handler: Callable[[ReaderContext, RestRequest], RestAnswer]
    heavy: Callable[[RestRequest], bool] = never
    has_body: bool = False
    paths: tuple[RestPath, ...] = ()
