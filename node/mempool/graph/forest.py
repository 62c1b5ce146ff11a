"""Spanning-forest linearization: cuts a cluster into the chunks of its best order.

Owns: the search for the chunks. Never: the order of chunks or within them (see `linearize`).

The method is Bitcoin Core's since version 31. Every dependency is active or not; active ones never close a circle, so that
each set of transactions held together by them (a chunk) is a tree. Cutting an active dependency leaves a top part, with the
parent, and a bottom part. If the top has the higher rate, it would do better alone: the dependency is cut, and each part
joins others until no chunk depends on one of lower or equal rate. When no such cut is left, the chunks are those of the
best order. Then fees flow along the active dependencies, from child to parent, so that all of a chunk is paid at its rate;
a set of a chunk's transactions that depends on nothing else in it, and is not helped by the rest of it, can be a chunk by
itself: those are found as the strongly connected parts of the graph of dependencies and of flows against them.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from clarion.node.mempool.graph.bits import positions


class Tree(NamedTuple):
    """A chunk's active dependencies, seen from one of its transactions: the root.

    Entry `i` of each list is about `nodes[i]`; `up[i]` is the index (in these lists) of its neighbour towards the root, and
    the sums are over all that hangs on it, itself included.
    """

    nodes: list[int]
    up: list[int]
    masks: list[int]
    fees: list[int]
    sizes: list[int]


class Forest:
    """The state of the search over one cluster. Chunks have numbers below the count of transactions.

    `cost` counts the work, roughly in the reference's units.
    """

    def __init__(
        self,
        fees: Sequence[int],
        sizes: Sequence[int],
        parents: Sequence[int],
        random: Random,
    ) -> None:
        """`parents` holds the mask of direct parents of each transaction."""
        count = len(fees)
        self._fees = fees
        self._sizes = sizes
        self._parents = parents
        self._random = random.random
        self._children = [0] * count
        for child, mask in enumerate(parents):
            for parent in positions(mask):
                self._children[parent] |= 1 << child
        self._active = [0] * count
        """For each transaction those that an active dependency, either way, ties it to."""
        self._chunk_of = list(range(count))
        self._masks = [1 << at for at in range(count)]
        self._chunk_fees = list(fees)
        self._chunk_sizes = list(sizes)
        self._above = list(parents)
        """For each chunk the transactions outside that it depends on directly."""
        self._below = list(self._children)
        self._chunks = set(range(count))
        self._unused: list[int] = []
        self.cost = 91 * count

    def load(self, order: Sequence[int]) -> None:
        """Join chunks so that the state is as good as a given order, which must have parents first."""
        chunk_of = self._chunk_of
        for at in order:
            if self._parents[at]:
                self._join_upwards(chunk_of[at])

    def optimize(self, max_cost: int) -> bool:
        """Cut and join until the chunks are the best; return False if that took too much work."""
        queue = list(self._chunks)
        queued = set(queue)
        for chunk in queue:
            queued.discard(chunk)
            if chunk not in self._chunks or not self._masks[chunk] & (self._masks[chunk] - 1):
                continue
            if self.cost >= max_cost:
                return False
            cut = self._pick_cut(chunk)
            if cut is not None:
                # The list grows as it is gone through.
                for changed in self._improve(chunk, *cut):
                    if changed not in queued:
                        queued.add(changed)
                        queue.append(changed)
        return True

    def chunks(self) -> list[int]:
        """Return the masks of the chunks as they are."""
        return [self._masks[chunk] for chunk in self._chunks]

    def smallest_chunks(self) -> list[int]:
        """Return the masks of the best order's chunks, none of which could be cut into parts of equal rate."""
        result = []
        for chunk in self._chunks:
            mask = self._masks[chunk]
            if mask & (mask - 1):
                result += self._split_evenly(chunk)
            else:
                result.append(mask)
        return result

    def _tree(self, chunk: int) -> Tree:
        """Return the chunk's tree."""
        active = self._active
        mask = self._masks[chunk]
        unseen = mask & (mask - 1)
        nodes = [(mask ^ unseen).bit_length() - 1]
        up = [0]
        for index, node in enumerate(nodes):
            found = active[node] & unseen
            unseen &= ~found
            while found:
                low = found & -found
                found ^= low
                nodes.append(low.bit_length() - 1)
                up.append(index)
        masks = [1 << node for node in nodes]
        fees = [self._fees[node] for node in nodes]
        sizes = [self._sizes[node] for node in nodes]
        for index in range(len(nodes) - 1, 0, -1):
            above = up[index]
            masks[above] |= masks[index]
            fees[above] += fees[index]
            sizes[above] += sizes[index]
        self.cost += 8 * len(nodes) + 9
        return Tree(nodes, up, masks, fees, sizes)

    def _pick_cut(self, chunk: int) -> tuple[int, int, int] | None:
        """Return a random (top, parent, child) of those whose top has the higher rate, top as a mask; None if there is none."""
        nodes, up, masks, fees, sizes = self._tree(chunk)
        fee, size = fees[0], sizes[0]
        found = []
        for index in range(1, len(nodes)):
            node, other = nodes[index], nodes[up[index]]
            excess = fees[index] * size - fee * sizes[index]
            if self._parents[node] >> other & 1:
                if excess < 0:
                    found.append((masks[0] ^ masks[index], other, node))
            elif excess > 0:
                found.append((masks[index], node, other))
        if len(found) > 1:
            return found[int(self._random() * len(found))]
        return found[0] if found else None

    def _improve(self, chunk: int, top: int, parent: int, child: int) -> list[int]:
        """Cut a dependency, then join until no chunk depends on one that is no better; return the chunks that changed."""
        upper = self._cut(chunk, top, parent, child)
        if self._above[upper] & self._masks[chunk]:
            return [self._join(chunk, upper)]
        return [self._join_upwards(upper), self._join_downwards(chunk)]

    def _cut(self, chunk: int, top: int, parent: int, child: int) -> int:
        """Deactivate a dependency: `chunk` keeps the bottom part; return the new chunk of the top part."""
        self._active[parent] ^= 1 << child
        self._active[child] ^= 1 << parent
        upper = self._unused.pop()
        bottom = self._masks[chunk] ^ top
        self.cost += 11 * self._masks[chunk].bit_count() + 8
        fee = size = above = below = 0
        for at in positions(top):
            fee += self._fees[at]
            size += self._sizes[at]
            above |= self._parents[at]
            below |= self._children[at]
            self._chunk_of[at] = upper
        self._chunks.add(upper)
        self._masks[upper] = top
        self._chunk_fees[upper] = fee
        self._chunk_sizes[upper] = size
        self._above[upper] = above & ~top
        self._below[upper] = below & ~top
        above = below = 0
        for at in positions(bottom):
            above |= self._parents[at]
            below |= self._children[at]
        self._masks[chunk] = bottom
        self._chunk_fees[chunk] -= fee
        self._chunk_sizes[chunk] -= size
        self._above[chunk] = above & ~bottom
        self._below[chunk] = below & ~bottom
        return upper

    def _join(self, upper: int, lower: int) -> int:
        """Activate a random dependency of chunk `lower` on chunk `upper`; return the joined chunk."""
        top, bottom = self._masks[upper], self._masks[lower]
        ties = [
            (parent, child)
            for parent in positions(top & self._above[lower])
            for child in positions(self._children[parent] & bottom)
        ]
        parent, child = ties[int(self._random() * len(ties))] if len(ties) > 1 else ties[0]
        self._active[parent] |= 1 << child
        self._active[child] |= 1 << parent
        for at in positions(top):
            self._chunk_of[at] = lower
        both = top | bottom
        self._masks[lower] = both
        self._chunk_fees[lower] += self._chunk_fees[upper]
        self._chunk_sizes[lower] += self._chunk_sizes[upper]
        self._above[lower] = (self._above[lower] | self._above[upper]) & ~both
        self._below[lower] = (self._below[lower] | self._below[upper]) & ~both
        self._chunks.discard(upper)
        self._unused.append(upper)
        self.cost += 10 * both.bit_count() + 5 * top.bit_count() + 6
        return lower

    def _join_upwards(self, chunk: int) -> int:
        """Join with the worst of the chunks that it depends on and that are no better, again and again."""
        while (other := self._neighbour(self._above[chunk], chunk, 1)) is not None:
            chunk = self._join(other, chunk)
        return chunk

    def _join_downwards(self, chunk: int) -> int:
        """Join with the best of the chunks that depend on it and that are no worse, again and again."""
        while (other := self._neighbour(self._below[chunk], chunk, -1)) is not None:
            chunk = self._join(chunk, other)
        return chunk

    def _neighbour(self, reachable: int, chunk: int, sign: int) -> int | None:
        """Return the chunk in `reachable` whose rate is lowest (sign 1) or highest (-1), if it is no higher (lower) than ours.

        Among equals a random one.
        """
        best = None
        ties = 1
        fee, size = self._chunk_fees[chunk], self._chunk_sizes[chunk]
        while reachable:
            other = self._chunk_of[(reachable & -reachable).bit_length() - 1]
            reachable &= ~self._masks[other]
            self.cost += 8
            other_fee, other_size = self._chunk_fees[other], self._chunk_sizes[other]
            gain = (fee * other_size - other_fee * size) * sign
            if gain < 0:
                continue
            if gain == 0 and best is not None:
                ties += 1
                if self._random() * ties >= 1:
                    continue
            else:
                ties = 1
            best, fee, size = other, other_fee, other_size
        return best

    def _split_evenly(self, chunk: int) -> list[int]:
        """Return the parts of a chunk that can be chunks of the same rate. No cut of it may be an improvement."""
        nodes, up, masks, fees, sizes = self._tree(chunk)
        fee, size = fees[0], sizes[0]
        block_of = [0] * len(nodes)
        blocks = [1 << nodes[0]]
        for index in range(1, len(nodes)):
            if fees[index] * size == fee * sizes[index]:
                block_of[index] = len(blocks)
                blocks.append(0)
            else:
                block_of[index] = block_of[up[index]]
            blocks[block_of[index]] |= 1 << nodes[index]
        if len(blocks) == 1:
            return [masks[0]]
        return self._strongly_connected(blocks)

    def _strongly_connected(self, blocks: list[int]) -> list[int]:
        """Return the blocks of transactions (masks), those that depend on each other made one."""
        needs = []
        for block in blocks:
            above = 0
            for at in positions(block):
                above |= self._parents[at]
            needs.append(sum([1 << index for index, other in enumerate(blocks) if above & other]))
        for middle, middle_needs in enumerate(needs):
            for index, own in enumerate(needs):
                if own >> middle & 1:
                    needs[index] = own | middle_needs
        result = []
        taken = 0
        for index, block in enumerate(blocks):
            if taken >> index & 1:
                continue
            for other in positions(needs[index] & ~(1 << index)):
                if needs[other] >> index & 1:
                    block |= blocks[other]
                    taken |= 1 << other
            result.append(block)
        self.cost += 11 * len(blocks)
        return result
