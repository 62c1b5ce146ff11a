"""Answers that come later: what a NODE method returns when it has to wait first.

Owns: the shape of such an answer. Never: waiting; whoever carries the call does it, without keeping a thread busy.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Waiting:
    """Once `ready` is resolved, `answer` is called on a thread for calls; it may say to wait again.

    `ready` is cancelled when the client leaves; `answer` is not called then. `answer` raises RpcError like a method.
    """

    ready: Future[Any]
    answer: Callable[[], Any]
