"""Chunks one after the other, as they would go into a block.

Owns: what was skipped. Never: a block's limits.
"""

from __future__ import annotations

from types import TracebackType
from typing import Generic

from clarion.node.mempool.feefrac import FeeFrac
from clarion.node.mempool.graph.chunk import Chunk
from clarion.node.mempool.graph.cluster import Cluster
from clarion.node.mempool.graph.main_layer import MainLayer
from clarion.node.mempool.graph.node import Node


class BlockBuilder(Generic[Node]):
    """Goes through the main graph's chunks, best first. The main graph must not be changed before `close`."""

    def __init__(self, main: MainLayer[Node]) -> None:
        """Main must be settled."""
        self._main = main
        main.observers += 1
        self._open = True
        self._left = iter(main.index)
        self._skipped: set[Cluster[Node]] = set()
        self._chunk: Chunk[Node] | None = next(self._left, None)

    def __enter__(self) -> BlockBuilder[Node]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Allow changes again. Harmless twice."""
        if self._open:
            self._open = False
            self._main.observers -= 1

    def current_chunk(self) -> tuple[list[Node], FeeFrac] | None:
        """Return the chunk to include or skip, parents first, with its rate in satoshis per weight; None at the end."""
        chunk = self._chunk
        return None if chunk is None else (list(chunk.nodes), chunk.feerate)

    def include(self) -> None:
        """Go on: the current chunk is in the block."""
        self._next()

    def skip(self) -> None:
        """Go on without the current chunk and without anything else of its cluster."""
        if self._chunk is not None:
            cluster = self._chunk.nodes[0].cluster
            assert cluster is not None
            self._skipped.add(cluster)
        self._next()

    def _next(self) -> None:
        for chunk in self._left:
            if not self._skipped or chunk.nodes[0].cluster not in self._skipped:
                self._chunk = chunk
                return
        self._chunk = None
