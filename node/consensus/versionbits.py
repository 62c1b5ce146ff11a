"""Soft forks by miners' signals (BIP9, with BIP341's minimum activation height).

Owns: the state machine over a chain's headers, its statistics, and the version of new blocks. Never: which rules a
deployment brings. States are the same for all blocks of a period; they are remembered by the block before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from clarion.node.consensus.position import ChainPosition
from clarion.node.params.chain_params import ChainParams, Deployment
from clarion.node.params.model import ALWAYS_ACTIVE, NEVER_ACTIVE
from clarion.node.primitives.ids import BlockHash

TOP_BITS = 0x20000000
TOP_MASK = 0xE0000000


class ThresholdState(Enum):
    """A deployment's state; the value is what clients see."""

    DEFINED = "defined"
    STARTED = "started"
    LOCKED_IN = "locked_in"
    ACTIVE = "active"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SignalStatistics:
    """How the signalling stands in the period of a block."""

    period: int
    threshold: int
    """Blocks needed for lock-in; 0 once locked in."""
    elapsed: int
    count: int
    possible: bool
    """Whether the threshold can still be reached in this period."""


@dataclass(frozen=True, slots=True)
class DeploymentInfo:
    """A deployment seen from one block."""

    state: ThresholdState
    next_state: ThresholdState
    """State of the block on top."""
    since: int
    """Height of the first block in `state`."""
    statistics: SignalStatistics | None
    """None unless started or locked in."""
    signalling: tuple[bool, ...]
    """For each block of the period up to this one, whether it signals; empty without statistics."""
    active_since: int | None
    """Height of activation where it is known."""


Condition = Callable[[ChainPosition], bool]


def signals(version: int, mask: int) -> bool:
    """Return whether a block's version (int32) signals for the bits of `mask`."""
    return version & TOP_MASK == TOP_BITS and version & mask != 0


def last_of_period(position: ChainPosition | None, period: int) -> ChainPosition | None:
    """Return the block before the period that the child of `position` is in, None in the first period."""
    if position is None:
        return None
    return position.ancestor(position.height - (position.height + 1) % period)


class VersionBits:
    """The states of a network's deployments, remembered as far as they have been asked for.

    Not thread-safe. A method's `prev` is the parent of the block that is asked about, None for genesis.
    """

    def __init__(self, params: ChainParams) -> None:
        self._params = params
        self._states: dict[tuple[object, BlockHash | None], ThresholdState] = {}

    def state(self, prev: ChainPosition | None, name: str) -> ThresholdState:
        """Return the state of deployment `name` for the block on top of `prev`."""
        deployment = self._params.deployments[name]
        return self._state(prev, name, deployment, lambda block: signals(block.version, deployment.mask))

    def is_active_after(self, prev: ChainPosition | None, name: str) -> bool:
        """Return whether the rules of deployment `name` hold for the block on top of `prev`."""
        return self.state(prev, name) is ThresholdState.ACTIVE

    def state_since_height(self, prev: ChainPosition | None, name: str) -> int:
        """Return the height of the first block in the state of the block on top of `prev`."""
        deployment = self._params.deployments[name]
        if deployment.start_time in (ALWAYS_ACTIVE, NEVER_ACTIVE):
            return 0
        state = self.state(prev, name)
        if state is ThresholdState.DEFINED:
            return 0
        before = last_of_period(prev, deployment.period)
        assert before is not None, "the first period is always DEFINED"
        earlier = before.ancestor(before.height - deployment.period)
        while earlier is not None and self.state(earlier, name) is state:
            before = earlier
            earlier = before.ancestor(before.height - deployment.period)
        return before.height + 1

    def info(self, position: ChainPosition, name: str) -> DeploymentInfo:
        """Return deployment `name` as `getdeploymentinfo` shows it for this block."""
        state = self.state(position.prev, name)
        next_state = self.state(position, name)
        since = self.state_since_height(position.prev, name)
        statistics = None
        signalling: tuple[bool, ...] = ()
        if state in (ThresholdState.STARTED, ThresholdState.LOCKED_IN):
            statistics, signalling = self.statistics(position, name)
            if state is ThresholdState.LOCKED_IN:
                statistics = SignalStatistics(statistics.period, 0, statistics.elapsed, statistics.count, False)
        active_since = None
        if state is ThresholdState.ACTIVE:
            active_since = since
        elif next_state is ThresholdState.ACTIVE:
            active_since = position.height + 1
        return DeploymentInfo(state, next_state, since, statistics, signalling, active_since)

    def statistics(self, position: ChainPosition, name: str) -> tuple[SignalStatistics, tuple[bool, ...]]:
        """Return the statistics of the period up to `position`, and for each of its blocks whether it signals."""
        deployment = self._params.deployments[name]
        flags = []
        block: ChainPosition | None = position
        for _ in range(1 + position.height % deployment.period):
            assert block is not None
            flags.append(signals(block.version, deployment.mask))
            block = block.prev
        flags.reverse()
        elapsed, count = len(flags), sum(flags)
        possible = deployment.period - deployment.threshold >= elapsed - count
        return SignalStatistics(deployment.period, deployment.threshold, elapsed, count, possible), tuple(flags)

    def block_version(self, prev: ChainPosition | None) -> int:
        """Return the version of a new block on top of `prev`: it signals for everything started or locked in."""
        version = TOP_BITS
        for name, deployment in self._params.deployments.items():
            if self.state(prev, name) in (ThresholdState.STARTED, ThresholdState.LOCKED_IN):
                version |= deployment.mask
        return version

    def _state(
        self, prev: ChainPosition | None, key: object, deployment: Deployment, condition: Condition
    ) -> ThresholdState:
        if deployment.start_time == ALWAYS_ACTIVE:
            return ThresholdState.ACTIVE
        if deployment.start_time == NEVER_ACTIVE:
            return ThresholdState.FAILED
        states = self._states
        before = last_of_period(prev, deployment.period)
        unknown: list[ChainPosition] = []
        state = ThresholdState.DEFINED
        while before is not None:
            known = states.get((key, before.hash))
            if known is not None:
                state = known
                break
            if before.median_time_past() < deployment.start_time:
                # Median times only grow: every earlier block lies before the start too.
                states[key, before.hash] = ThresholdState.DEFINED
                break
            unknown.append(before)
            before = before.ancestor(before.height - deployment.period)
        for before in reversed(unknown):
            state = _next_state(state, before, deployment, condition)
            states[key, before.hash] = state
        return state


def _next_state(
    state: ThresholdState, last: ChainPosition, deployment: Deployment, condition: Condition
) -> ThresholdState:
    """Return the state of the period behind `last`, the last block of a period that has `state`."""
    if state is ThresholdState.DEFINED:
        return ThresholdState.STARTED if last.median_time_past() >= deployment.start_time else state
    if state is ThresholdState.STARTED:
        count = 0
        block: ChainPosition | None = last
        for _ in range(deployment.period):
            assert block is not None
            count += condition(block)
            block = block.prev
        if count >= deployment.threshold:
            return ThresholdState.LOCKED_IN
        return ThresholdState.FAILED if last.median_time_past() >= deployment.timeout else state
    if state is ThresholdState.LOCKED_IN and last.height + 1 >= deployment.min_activation_height:
        return ThresholdState.ACTIVE
    return state
