"""What a cluster may be.

Owns: the limits' values and whether they are kept. Never: what happens to a graph that breaks them.
"""

from typing import NamedTuple

MAX_CLUSTER_COUNT_LIMIT = 64
"""No graph allows more transactions in a cluster."""


class Limits(NamedTuple):
    """At most so many transactions, of so much weight together."""

    max_count: int
    max_weight: int

    def broken_by(self, count: int, weight: int) -> bool:
        """Whether a cluster of this count and weight is too large."""
        return count > self.max_count or weight > self.max_weight
