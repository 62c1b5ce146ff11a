"""Telling peers what our mempool does not take (BIP133).

Owns: the rounding of the fee rate and the moments at which it is told. Never: the fee rate itself.
Source: Bitcoin Core's net_processing.cpp (MaybeSendFeefilter) and FeeFilterRounder.
"""

import random
import time
from bisect import bisect_left

from clarion.node.consensus.constants import MAX_MONEY
from clarion.node.mempool.feerate import FeeRate
from clarion.node.net.clock import MINUTE_US
from clarion.node.net.context import NetContext
from clarion.node.net.messages.handshake import FeeFilter
from clarion.node.net.peer import Peer
from clarion.node.net.permissions import Permission
from clarion.node.net.protocol import FEEFILTER_VERSION
from clarion.node.net.relay.announcements import random_interval
from clarion.node.net.relay.state import RelayState

MEAN_INTERVAL_US = 10 * MINUTE_US
MAX_CHANGE_DELAY_US = 5 * MINUTE_US
_MAX_FEERATE_SAT = 1e7
_SPACING = 1.1
_READ_INTERVAL_S = 0.05
"""Of real time: half the time between two ticks."""
_RANDOM = random.SystemRandom()


class FeeFilterRounder:
    """Rounds fee rates to a few values, partly by chance, so that the exact one does not tell a node from others."""

    def __init__(self, incremental: FeeRate) -> None:
        """`incremental` is the fee rate of -incrementalrelayfee."""
        boundary = float(max(1, incremental.sat_per_kvb // 2))
        self._values = [0.0]
        while boundary <= _MAX_FEERATE_SAT:
            self._values.append(boundary)
            boundary *= _SPACING

    def round(self, feerate_sat: int) -> int:
        """Return one of the two values around a fee rate, the lower one in two of three cases; sat/kvB."""
        at = bisect_left(self._values, feerate_sat)
        if at == len(self._values) or (at and _RANDOM.randrange(3)):
            at -= 1
        return int(self._values[at])


class FeeFilterSender:
    """Tells peers."""

    def __init__(self, context: NetContext) -> None:
        self._context = context
        self._pool = context.mempool.pool
        self._rounder = FeeFilterRounder(self._pool.options.incremental_relay_feerate)
        self._highest = self._rounder.round(MAX_MONEY)
        self._current_sat = 0
        self._read_at = -_READ_INTERVAL_S

    def send(self, peer: Peer, now_us: int) -> None:
        """Tell a peer if it is time: now and then, and soon after a great change."""
        if (
            self._context.options.blocks_only
            or peer.common_version < FEEFILTER_VERSION
            or peer.may(Permission.FORCE_RELAY)
            or peer.is_block_only
        ):
            return
        state = peer.state(RelayState)
        syncing = self._context.chain.manager.initial_download
        # What peers announce in initial sync is not looked at; when that is over, they hear at once.
        current = MAX_MONEY if syncing else self._read()
        if not syncing and state.min_feerate_sent_sat == self._highest:
            state.next_feefilter_us = 0
        if now_us > state.next_feefilter_us:
            self._tell(peer, state, current)
            state.next_feefilter_us = now_us + random_interval(MEAN_INTERVAL_US)
        elif now_us + MAX_CHANGE_DELAY_US < state.next_feefilter_us and _differs(current, state.min_feerate_sent_sat):
            state.next_feefilter_us = now_us + _RANDOM.randrange(MAX_CHANGE_DELAY_US)

    def _tell(self, peer: Peer, state: RelayState, current: int) -> None:
        rounded = max(self._rounder.round(current), self._pool.options.min_relay_feerate.sat_per_kvb)
        if rounded != state.min_feerate_sent_sat:
            peer.send(FeeFilter(rounded))
            state.min_feerate_sent_sat = rounded

    def _read(self) -> int:
        """Return the pool's minimum fee rate, read now and then for all peers, when nobody holds the pool."""
        now = time.monotonic()
        if now - self._read_at >= _READ_INTERVAL_S and self._pool.lock.acquire(blocking=False):
            try:
                self._current_sat = self._pool.min_fee().sat_per_kvb
                self._read_at = now
            finally:
                self._pool.lock.release()
        return self._current_sat


def _differs(current: int, sent: int) -> bool:
    return current < 3 * sent // 4 or current > 4 * sent // 3
