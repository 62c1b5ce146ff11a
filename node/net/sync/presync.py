"""Headers of a chain that has not shown enough work yet: seen twice before any takes memory.

Owns: the two passes over one peer's headers. Never: asking for headers, validation beyond work and difficulty.
Source: Bitcoin Core's src/headerssync.{h,cpp}.

In the first pass (presync) only the work is added up, and one secret bit of every so many headers is kept. When the work
suffices, the same headers are asked for again (redownload) and compared with those bits; they are given out once so many
bits lie on top of them that a peer that switched chains would have been found out.
"""

import logging
import secrets
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from clarion.node.chain.block_index import BlockIndexEntry
from clarion.node.consensus.constants import MAX_FUTURE_BLOCK_TIME
from clarion.node.consensus.pow import block_proof, permitted_difficulty_transition
from clarion.node.params.chain_params import ChainParams
from clarion.node.primitives.block import BlockHeader
from clarion.node.primitives.ids import BlockHash
from clarion.node.primitives.siphash import siphash

BLOCKS_A_SECOND = 6
"""The median-time-past rule lets a chain gain no more in the long run; this bounds what one peer's bits may take."""

logger = logging.getLogger("clarion.net")


class Phase(Enum):
    """Where a synchronisation stands; the value is its name in the log."""

    PRESYNC = "presync"
    REDOWNLOAD = "redownload"
    OVER = "over"


class Step(NamedTuple):
    """What one message of headers led to."""

    headers: list[BlockHeader]
    """Headers that may be taken in now."""
    more: bool
    """Whether more are to be asked for, behind `locator_start`."""
    valid: bool


class HeaderPresync:
    """One peer's low-work headers, from `start` on, which is in our index."""

    def __init__(self, peer_id: int, params: ChainParams, start: BlockIndexEntry, least_work: int, now: int) -> None:
        """`now` in Unix seconds."""
        self.phase = Phase.PRESYNC
        self._peer_id = peer_id
        self._params = params
        self._start = start
        self._least_work = least_work
        self._period = params.headers_sync.commitment_period
        self._offset = secrets.randbelow(self._period)
        self._key = secrets.randbits(64), secrets.randbits(64)
        self._bits: deque[int] = deque()
        self._most_bits = BLOCKS_A_SECOND * (now - start.median_time_past() + MAX_FUTURE_BLOCK_TIME) // self._period
        self.work = start.chainwork
        self.height = start.height
        self._last_hash, self._last_bits = start.hash, start.bits
        self._kept: deque[BlockHeader] = deque()
        self._release_all = False
        self._log("started with peer=%d: height=%d, max_commitments=%d", peer_id, self.height, self._most_bits)

    @property
    def locator_start(self) -> BlockHash:
        """The last header that was seen, in front of which the next ones are asked for."""
        return self._last_hash

    @property
    def start(self) -> BlockIndexEntry:
        """Our header that everything builds on."""
        return self._start

    def process(self, headers: Sequence[BlockHeader], *, full: bool) -> Step:
        """Look at the next headers; `full` says that the peer may have more. Afterwards it may be over."""
        before = self.phase
        problem = self._presync(headers) if before is Phase.PRESYNC else self._redownload(headers)
        released = self._release() if not problem and before is Phase.REDOWNLOAD else []
        finished = before is Phase.REDOWNLOAD and self._release_all and not self._kept
        if not problem and not finished and not full and self.phase is before:
            self._log("aborted with peer=%d: incomplete headers message at height=%d (%s phase)", *self._where(before))
        elif problem:
            self._log(f"aborted with peer=%d: {problem} at height=%d (%s phase)", *self._where(before))
        elif finished:
            self._log("complete with peer=%d: releasing all at height=%d (%s phase)", *self._where(before))
        more = not problem and not finished and (full or self.phase is not before)
        if not more:
            self.phase = Phase.OVER
        return Step(released, more, not problem)

    def _where(self, phase: Phase) -> tuple[int, int, str]:
        return self._peer_id, self.height, phase.value

    def _log(self, text: str, *values: object) -> None:
        logger.debug("Initial headers sync " + text, *values)

    def _bit(self, header: BlockHeader) -> int:
        return siphash(*self._key, header.hash) & 1

    def _follows(self, header: BlockHeader) -> str:
        """Return what is wrong with a header behind the last one, nothing if it may follow."""
        if header.prev_hash != self._last_hash:
            return "non-continuous headers"
        if not permitted_difficulty_transition(self._params, self.height + 1, self._last_bits, header.bits):
            return "invalid difficulty transition"
        return ""

    def _advance(self, header: BlockHeader) -> None:
        self.work += block_proof(header.bits)
        self.height += 1
        self._last_hash, self._last_bits = header.hash, header.bits

    def _presync(self, headers: Sequence[BlockHeader]) -> str:
        for header in headers:
            problem = self._follows(header)
            if problem:
                return problem
            if (self.height + 1) % self._period == self._offset:
                self._bits.append(self._bit(header))
                if len(self._bits) > self._most_bits:
                    return "exceeded max commitments"
            self._advance(header)
        if self.work >= self._least_work:
            self._begin_again()
        return ""

    def _begin_again(self) -> None:
        start = self._start
        self._log(
            "transition with peer=%d: reached sufficient work at height=%d, redownloading from height=%d",
            self._peer_id,
            self.height,
            start.height,
        )
        self.phase = Phase.REDOWNLOAD
        self.work, self.height = start.chainwork, start.height
        self._last_hash, self._last_bits = start.hash, start.bits

    def _redownload(self, headers: Sequence[BlockHeader]) -> str:
        for header in headers:
            problem = self._follows(header)
            if problem:
                return problem
            if self.work + block_proof(header.bits) >= self._least_work:
                # The claim is proved: what follows needs no comparison.
                self._release_all = True
            if not self._release_all and (self.height + 1) % self._period == self._offset:
                if not self._bits:
                    return "commitment overrun"
                if self._bits.popleft() != self._bit(header):
                    return "commitment mismatch"
            self._advance(header)
            self._kept.append(header)
        return ""

    def _release(self) -> list[BlockHeader]:
        least = 0 if self._release_all else self._params.headers_sync.redownload_buffer_size
        return [self._kept.popleft() for _ in range(max(len(self._kept) - least, 0))]
