"""Soft forks that miners signal for and that this node does not know.

Owns: the state machine of all version bits that may signal, for warnings. Never: known deployments (`versionbits`), telling anybody.
"""

from clarion.node.consensus.position import ChainPosition
from clarion.node.consensus.versionbits import TOP_BITS, TOP_MASK, VersionBits, last_of_period
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.ids import BlockHash

SIGNAL_BITS = 5
"""The lowest bits may signal; the others are free for miners' other uses (BIP323)."""
MAIN_PERIOD, MAIN_THRESHOLD = 2016, 1815
"""Blocks of a period on a main network, and how many of them lock a bit in (BIP9's 90 %)."""


class UnknownRules:
    """The bits that locked in or became active, remembered by the last block of each period. Not thread-safe."""

    def __init__(self, params: ChainParams) -> None:
        self._bits = VersionBits(params)
        self._lowest = params.min_bip9_warning_height
        self._period, self._threshold = MAIN_PERIOD, MAIN_THRESHOLD
        if params.is_test_chain:
            self._period = params.difficulty_interval
            self._threshold = self._period * 3 // 4
        self._known: dict[BlockHash, tuple[int, int]] = {}

    def activations(self, tip: ChainPosition) -> list[tuple[int, bool]]:
        """Return (bit, active) of each bit that is locked in or active for the block on top of `tip`, lowest first."""
        locked, active = self._state(tip)
        return [(bit, active >> bit & 1 == 1) for bit in range(SIGNAL_BITS) if (locked | active) >> bit & 1]

    def _state(self, tip: ChainPosition) -> tuple[int, int]:
        """Return the bits that are locked in and those that are active behind the last whole period up to `tip`."""
        before = last_of_period(tip, self._period)
        unknown: list[ChainPosition] = []
        state = (0, 0)
        # Nobody signals before the lowest height, nor in the first period, in which no deployment has started.
        while before is not None and before.height >= max(self._lowest, self._period):
            if before.hash in self._known:
                state = self._known[before.hash]
                break
            unknown.append(before)
            before = before.ancestor(before.height - self._period)
        for last in reversed(unknown):
            locked, active = state
            active |= locked
            state = self._known[last.hash] = (self._majority(last) & ~active, active)
        return state

    def _majority(self, last: ChainPosition) -> int:
        """Return the unknown bits that enough blocks of the period that ends in `last` signal for."""
        counts = dict.fromkeys(range(SIGNAL_BITS), 0)
        first = last.ancestor(last.height - self._period + 1)
        assert first is not None
        # Known deployments change their state between periods only, and all periods of a network are equally long.
        unknown = ~self._bits.block_version(first.prev) & ((1 << SIGNAL_BITS) - 1)
        block: ChainPosition | None = last
        for _ in range(self._period):
            assert block is not None
            version = block.version
            if version & TOP_MASK == TOP_BITS and block.height >= self._lowest:
                surprising = version & unknown
                while surprising:
                    lowest_bit = surprising & -surprising
                    counts[lowest_bit.bit_length() - 1] += 1
                    surprising ^= lowest_bit
            block = block.prev
        return sum(1 << bit for bit, count in counts.items() if count >= self._threshold)
